#include "kernels/ops/lanes.hpp"

#include <algorithm>

namespace perigee::kernels {
namespace {

constexpr std::int64_t run_rows = 64;

PERIGEE_CLONES void sum_eight(const float* rows, std::int64_t R, std::int64_t C, double* sums) {
  v8d total{};
  for (std::int64_t r0 = 0; r0 < R; r0 += run_rows) {
    const std::int64_t end = std::min(R, r0 + run_rows);
    v8 run{}, x{};
    for (std::int64_t r = r0; r < end; ++r) {
      load(x, rows + r * C);
      run += x;
    }
    total += __builtin_convertvector(run, v8d);
  }
  std::memcpy(sums, &total, sizeof total);
}

double sum_one(const float* rows, std::int64_t R, std::int64_t C) {
  double total = 0;
  for (std::int64_t r0 = 0; r0 < R; r0 += run_rows) {
    const std::int64_t end = std::min(R, r0 + run_rows);
    float run = 0;
    for (std::int64_t r = r0; r < end; ++r) run += rows[r * C];
    total += static_cast<double>(run);
  }
  return total;
}

}  // namespace

void add_column_sums(const float* rows, std::int64_t R, std::int64_t C, float* total) {
  std::int64_t c = 0;
  for (; c + 8 <= C; c += 8) {
    double sums[8];
    sum_eight(rows + c, R, C, sums);
    for (std::int64_t j = 0; j < 8; ++j) total[c + j] += static_cast<float>(sums[j]);
  }
  for (; c < C; ++c) total[c] += static_cast<float>(sum_one(rows + c, R, C));
}

PERIGEE_CLONES void add_to_rows(float* rows, std::int64_t R, std::int64_t C, const float* value) {
  for (std::int64_t r = 0; r < R; ++r)
    for (std::int64_t c = 0; c < C; ++c) rows[r * C + c] += value[c];
}

}  // namespace perigee::kernels
