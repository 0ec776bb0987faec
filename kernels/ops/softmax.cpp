// Softmax over the middle of [outer, C, inner].
//
//   forward   out = e^(in - largest) / sum over C
//   backward  din = out * (dout - sum over C of dout * out)      overwritten; in place if asked
//
// inner = 1: a row lies together and is summed in sixteen lanes. Otherwise the rows of C lie
// `inner` apart: vectors run along `inner` and each sum is a left fold over C.
#include "kernels/ops/ops.hpp"
#include "kernels/ops/shape_check.hpp"
#include "kernels/ops/softmax_row.hpp"

#include <algorithm>

namespace perigee::kernels {
namespace {

struct softmax_block {
  std::size_t outer = 1, C = 0, inner = 1;
};

PERIGEE_CLONES void forward_rows(const softmax_block& s, const op_call& c) {
  for (std::size_t r = 0; r < s.outer; ++r) {
    float* y = c.out[0] + r * s.C;
    const row_scale scale = exponentials(static_cast<const float*>(c.in[0]) + r * s.C, y, s.C);
    for (std::size_t i = 0; i < s.C; ++i) y[i] *= scale.inverse_sum;
  }
}

PERIGEE_CLONES void backward_rows(const softmax_block& s, const op_call& c) {
  for (std::size_t r = 0; r < s.outer; ++r) {
    const float* y = c.out[0] + r * s.C;
    const float* dy = c.dout[0] + r * s.C;
    float* dx = c.din[0] + r * s.C;
    const float dot =
        lane_sum(s.C, [&](const auto& at) PERIGEE_INLINE_LAMBDA { return at(y) * at(dy); });
#pragma GCC ivdep
    for (std::size_t i = 0; i < s.C; ++i) dx[i] = y[i] * (dy[i] - dot);
  }
}

PERIGEE_CLONES void forward_columns(const softmax_block& s, const op_call& c) {
  auto* largest = reinterpret_cast<float*>(c.scratch);  // [inner]
  float* sum = largest + s.inner;                       // [inner]
  for (std::size_t o = 0; o < s.outer; ++o) {
    const float* x = static_cast<const float*>(c.in[0]) + o * s.C * s.inner;
    float* y = c.out[0] + o * s.C * s.inner;
    std::copy_n(x, s.inner, largest);
    std::fill_n(sum, s.inner, 0.0F);
    for (std::size_t k = 1; k < s.C; ++k)
      for (std::size_t i = 0; i < s.inner; ++i) largest[i] = larger(largest[i], x[k * s.inner + i]);
    for (std::size_t k = 0; k < s.C; ++k) {
#pragma GCC ivdep
      for (std::size_t i = 0; i < s.inner; ++i) {
        const float e = vector_exp(x[k * s.inner + i] - largest[i]);
        y[k * s.inner + i] = e;
        sum[i] += e;
      }
    }
    for (std::size_t k = 0; k < s.C; ++k) {
#pragma GCC ivdep
      for (std::size_t i = 0; i < s.inner; ++i) y[k * s.inner + i] *= 1.0F / sum[i];
    }
  }
}

PERIGEE_CLONES void backward_columns(const softmax_block& s, const op_call& c) {
  auto* dot = reinterpret_cast<float*>(c.scratch);  // [inner]
  for (std::size_t o = 0; o < s.outer; ++o) {
    const std::size_t first = o * s.C * s.inner;
    const float* y = c.out[0] + first;
    const float* dy = c.dout[0] + first;
    float* dx = c.din[0] + first;
    std::fill_n(dot, s.inner, 0.0F);
    for (std::size_t k = 0; k < s.C; ++k) {
#pragma GCC ivdep
      for (std::size_t i = 0; i < s.inner; ++i) dot[i] += y[k * s.inner + i] * dy[k * s.inner + i];
    }
    for (std::size_t k = 0; k < s.C; ++k) {
#pragma GCC ivdep
      for (std::size_t i = 0; i < s.inner; ++i)
        dx[k * s.inner + i] = y[k * s.inner + i] * (dy[k * s.inner + i] - dot[i]);
    }
  }
}

class softmax_op final : public op {
public:
  explicit softmax_op(const softmax_shape& s)
      : block_{static_cast<std::size_t>(s.outer), static_cast<std::size_t>(s.C),
               static_cast<std::size_t>(s.inner)} {
    const std::size_t count = block_.outer * block_.C * block_.inner;
    needs_.out_count = {count};
    needs_.scratch_bytes = block_.inner == 1 ? 0 : 2 * block_.inner * sizeof(float);
    needs_.backward_reads_in = {false};
    needs_.backward_reads_out = true;
    needs_.in_place = true;
    needs_.forward_work = 24 * count;
    needs_.backward_work = 4 * count;
  }
  [[nodiscard]] const op_needs& needs() const noexcept override { return needs_; }
  void forward(const op_call& c) override {
    block_.inner == 1 ? forward_rows(block_, c) : forward_columns(block_, c);
  }
  void backward_inputs(const op_call& c) override {
    if (c.din[0] == nullptr) return;
    block_.inner == 1 ? backward_rows(block_, c) : backward_columns(block_, c);
  }

private:
  softmax_block block_;
  op_needs needs_;
};

}  // namespace

result<op_ptr> make_softmax(const softmax_shape& s) {
  if (auto wrong = wrong_dimension("softmax", {{"outer", s.outer}, {"C", s.C}, {"inner", s.inner}}))
    return *wrong;
  return op_ptr(std::make_unique<softmax_op>(s));
}

}  // namespace perigee::kernels
