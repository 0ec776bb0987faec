#include "kernels/optimizer/clip.hpp"

#include "kernels/ops/vector_math.hpp"

#include <cmath>

namespace perigee::kernels {
namespace {

using f64x4 = double __attribute__((vector_size(32)));

PERIGEE_CLONES double squares(const float* x, std::size_t count) {
  f64x4 low = {}, high = {};
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    f64x4 a, b;
    for (std::size_t k = 0; k < 4; ++k) {
      a[k] = static_cast<double>(x[i + k]);
      b[k] = static_cast<double>(x[i + 4 + k]);
    }
    low += a * a;
    high += b * b;
  }
  double rest[8] = {};
  for (std::size_t k = 0; i < count; ++i, ++k) rest[k] = static_cast<double>(x[i]);
  for (std::size_t k = 0; k < 4; ++k) {
    low[k] += rest[k] * rest[k];
    high[k] += rest[k + 4] * rest[k + 4];
  }
  const f64x4 all = low + high;
  return (all[0] + all[1]) + (all[2] + all[3]);
}

}  // namespace

double sum_of_squares(std::span<const float> values) noexcept {
  return squares(values.data(), values.size());
}

double gradient_norm(std::span<const double> sums) noexcept {
  double total = 0;
  for (const double s : sums) total += s;
  return std::sqrt(total);
}

double clip_scale(double norm, double limit) noexcept {
  if (limit == 0) return 1;
  const double scale = limit / (norm + 1e-6);
  return scale >= 1 ? 1 : scale;
}

}  // namespace perigee::kernels
