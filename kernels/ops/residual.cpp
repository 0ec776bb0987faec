// A residual connection: out = a + b, then ReLU if asked.
//
//   backward  da = db = dout, where out > 0 if there is a ReLU; overwritten. In place: out may be
//             a, and da may be dout (db is written first).
#include "kernels/ops/ops.hpp"
#include "kernels/ops/shape_check.hpp"
#include "kernels/ops/vector_math.hpp"

#include <algorithm>

namespace perigee::kernels {
namespace {

PERIGEE_CLONES void residual_forward(const op_call& c, std::size_t count, bool relu) {
  const auto* a = static_cast<const float*>(c.in[0]);
  const auto* b = static_cast<const float*>(c.in[1]);
  float* y = c.out[0];
  if (relu) {
#pragma GCC ivdep
    for (std::size_t i = 0; i < count; ++i) {
      const float sum = a[i] + b[i];
      y[i] = sum < 0 ? 0.0F : sum;  // a NaN stays
    }
  } else {
#pragma GCC ivdep
    for (std::size_t i = 0; i < count; ++i) y[i] = a[i] + b[i];
  }
}

PERIGEE_CLONES void residual_backward(const op_call& c, std::size_t count, float* dx) {
  const float* y = c.out[0];
  const float* dy = c.dout[0];
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) dx[i] = y[i] <= 0 ? 0.0F : dy[i];
}

class residual_op final : public op {
public:
  explicit residual_op(const residual_shape& s)
      : count_(static_cast<std::size_t>(s.count)), relu_(s.relu) {
    needs_.out_count = {count_};
    needs_.backward_reads_in = {false, false};
    needs_.backward_reads_out = relu_;
    needs_.in_place = true;
    needs_.forward_work = (relu_ ? 2 : 1) * count_;
    needs_.backward_work = (relu_ ? 2 : 1) * count_;
  }
  [[nodiscard]] const op_needs& needs() const noexcept override { return needs_; }
  void forward(const op_call& c) override { residual_forward(c, count_, relu_); }
  void backward_inputs(const op_call& c) override {
    for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
      float* dx = c.din[i];
      if (dx == nullptr) continue;
      if (relu_)
        residual_backward(c, count_, dx);
      else if (dx != c.dout[0])
        std::copy_n(c.dout[0], count_, dx);
    }
  }

private:
  std::size_t count_;
  bool relu_;
  op_needs needs_;
};

}  // namespace

result<op_ptr> make_residual(const residual_shape& s) {
  if (auto wrong = wrong_count("residual", s.count)) return *wrong;
  return op_ptr(std::make_unique<residual_op>(s));
}

}  // namespace perigee::kernels
