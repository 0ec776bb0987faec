// Layer normalisation of rows.
//
//   forward   out[R,C] = (in - mean) * rstd * weight[C] + bias[C];  mean and rstd [R] are saved
//   backward  h = (in - mean) * rstd,  g = dout * weight
//             din = rstd * (g - mean(g) - h * mean(g h))     overwritten
//             dweight += sum over R of dout * h, dbias += sum over R of dout: the rows are added
//             in order to a zero, and the sum to what is there.
#include "kernels/ops/ops.hpp"
#include "kernels/ops/shape_check.hpp"
#include "kernels/ops/vector_math.hpp"

#include <algorithm>
#include <cmath>

namespace perigee::kernels {
namespace {

struct layer_norm_rows {
  std::size_t R = 0, C = 0;
  float epsilon = 0;
};

/// saved: [R,2], mean and 1 / sqrt(variance + epsilon)
PERIGEE_CLONES void layer_norm_forward(const layer_norm_rows& s, const op_call& c) {
  const float* weight = c.param[0];
  const float* bias = c.param[1];
  auto* saved = reinterpret_cast<float*>(c.saved[0]);
  const auto count = static_cast<float>(s.C);
  for (std::size_t r = 0; r < s.R; ++r) {
    const float* x = static_cast<const float*>(c.in[0]) + r * s.C;
    float* y = c.out[0] + r * s.C;
    const float mean =
        lane_sum(s.C, [&](const auto& at) PERIGEE_INLINE_LAMBDA { return at(x); }) / count;
    const float variance = lane_sum(s.C,
                                    [&](const auto& at) PERIGEE_INLINE_LAMBDA {
                                      const auto d = at(x) - mean;
                                      return d * d;
                                    }) /
                           count;
    const float rstd = 1.0F / std::sqrt(variance + s.epsilon);
    saved[2 * r] = mean;
    saved[2 * r + 1] = rstd;
#pragma GCC ivdep
    for (std::size_t i = 0; i < s.C; ++i) y[i] = (x[i] - mean) * rstd * weight[i] + bias[i];
  }
}

PERIGEE_CLONES void layer_norm_backward_inputs(const layer_norm_rows& s, const op_call& c) {
  const float* weight = c.param[0];
  const auto* saved = reinterpret_cast<const float*>(c.saved[0]);
  const auto count = static_cast<float>(s.C);
  for (std::size_t r = 0; r < s.R; ++r) {
    const float* x = static_cast<const float*>(c.in[0]) + r * s.C;
    const float* dy = c.dout[0] + r * s.C;
    float* dx = c.din[0] + r * s.C;
    const float mean = saved[2 * r], rstd = saved[2 * r + 1];
    const float g_mean =
        lane_sum(s.C, [&](const auto& at) PERIGEE_INLINE_LAMBDA { return at(dy) * at(weight); }) /
        count;
    const float gh_mean = lane_sum(s.C,
                                   [&](const auto& at) PERIGEE_INLINE_LAMBDA {
                                     return at(dy) * at(weight) * ((at(x) - mean) * rstd);
                                   }) /
                          count;
#pragma GCC ivdep
    for (std::size_t i = 0; i < s.C; ++i) {
      const float h = (x[i] - mean) * rstd;
      dx[i] = rstd * (dy[i] * weight[i] - g_mean - h * gh_mean);
    }
  }
}

/// Adds rows [r, r + count) to the sums, row by row; four at a time save traffic.
template <std::size_t count>
PERIGEE_INLINE void add_rows(const layer_norm_rows& s, const op_call& c, std::size_t r,
                             float* sums) {
  const float* x = static_cast<const float*>(c.in[0]) + r * s.C;
  const float* dy = c.dout[0] + r * s.C;
  const float* saved = reinterpret_cast<const float*>(c.saved[0]) + 2 * r;
  float* dweight = sums;
  float* dbias = sums + s.C;
#pragma GCC ivdep
  for (std::size_t i = 0; i < s.C; ++i) {
    float w = dweight[i], b = dbias[i];
#pragma GCC unroll 4
    for (std::size_t k = 0; k < count; ++k) {
      const float d = dy[k * s.C + i];
      w += d * ((x[k * s.C + i] - saved[2 * k]) * saved[2 * k + 1]);
      b += d;
    }
    dweight[i] = w;
    dbias[i] = b;
  }
}

PERIGEE_CLONES void layer_norm_backward_weights(const layer_norm_rows& s, const op_call& c) {
  auto* sums = reinterpret_cast<float*>(c.scratch);  // [2,C]
  std::fill_n(sums, 2 * s.C, 0.0F);
  std::size_t r = 0;
  for (; r + 4 <= s.R; r += 4) add_rows<4>(s, c, r, sums);
  for (; r < s.R; ++r) add_rows<1>(s, c, r, sums);
  for (std::size_t p = 0; p < 2; ++p) {
    const float* part = sums + p * s.C;
    float* total = c.dparam[p];
#pragma GCC ivdep
    for (std::size_t i = 0; i < s.C; ++i) total[i] += part[i];
  }
}

class layer_norm_op final : public op {
public:
  explicit layer_norm_op(const layer_norm_shape& s)
      : rows_{static_cast<std::size_t>(s.R), static_cast<std::size_t>(s.C), s.epsilon} {
    const std::size_t count = rows_.R * rows_.C;
    needs_.out_count = {count};
    needs_.param_count = {rows_.C, rows_.C};
    needs_.saved_bytes = {rows_.R * 2 * sizeof(float)};
    needs_.scratch_bytes = 2 * rows_.C * sizeof(float);
    needs_.backward_reads_in = {true};
    needs_.forward_work = 8 * count;
    needs_.backward_work = 16 * count;
  }
  [[nodiscard]] const op_needs& needs() const noexcept override { return needs_; }
  void forward(const op_call& c) override { layer_norm_forward(rows_, c); }
  void backward_inputs(const op_call& c) override {
    if (c.din[0] != nullptr) layer_norm_backward_inputs(rows_, c);
  }
  void backward_weights(const op_call& c) override { layer_norm_backward_weights(rows_, c); }

private:
  layer_norm_rows rows_;
  op_needs needs_;
};

}  // namespace

result<op_ptr> make_layer_norm(const layer_norm_shape& s) {
  if (auto wrong = wrong_dimension("layer_norm", {{"R", s.R}, {"C", s.C}})) return *wrong;
  if (!(s.epsilon >= 0)) return error{errc::malformed, "layer_norm: epsilon is negative"};
  return op_ptr(std::make_unique<layer_norm_op>(s));
}

}  // namespace perigee::kernels
