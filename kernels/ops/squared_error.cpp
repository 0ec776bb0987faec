// Squared error.
//
//   forward   loss = sum of (x - target)², in f64: sixteen partial sums, element i in sum i mod 16
//   backward  dx = 2 (x - target) * loss_scale, dtarget = -dx; overwritten
#include "kernels/ops/ops.hpp"
#include "kernels/ops/shape_check.hpp"
#include "kernels/ops/vector_math.hpp"

namespace perigee::kernels {
namespace {

PERIGEE_CLONES double squared_error_sum(const float* x, const float* target, std::size_t count) {
  constexpr std::size_t lanes = 16;
  double sum[lanes] = {};
  for (std::size_t i = 0; i < count; i += lanes) {
    const std::size_t n = count - i < lanes ? count - i : lanes;
    for (std::size_t k = 0; k < n; ++k) {
      const double d = static_cast<double>(x[i + k]) - static_cast<double>(target[i + k]);
      sum[k] += d * d;
    }
  }
  double total = 0;
  for (const double s : sum) total += s;
  return total;
}

PERIGEE_CLONES void squared_error_backward(const op_call& c, std::size_t count, float sign,
                                           float* din) {
  const auto* x = static_cast<const float*>(c.in[0]);
  const auto* target = static_cast<const float*>(c.in[1]);
  const float scale = sign * 2.0F * static_cast<float>(c.loss_scale);
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) din[i] = (x[i] - target[i]) * scale;
}

class squared_error_op final : public op {
public:
  explicit squared_error_op(std::size_t count) : count_(count) {
    needs_.backward_reads_in = {true, true};
    needs_.forward_work = 3 * count;
    needs_.backward_work = 4 * count;
  }
  [[nodiscard]] const op_needs& needs() const noexcept override { return needs_; }
  void forward(const op_call& c) override {
    *c.loss = squared_error_sum(static_cast<const float*>(c.in[0]),
                                static_cast<const float*>(c.in[1]), count_);
  }
  void backward_inputs(const op_call& c) override {
    if (c.din[0] != nullptr) squared_error_backward(c, count_, 1.0F, c.din[0]);
    if (c.din.size() > 1 && c.din[1] != nullptr) squared_error_backward(c, count_, -1.0F, c.din[1]);
  }

private:
  std::size_t count_;
  op_needs needs_;
};

}  // namespace

result<op_ptr> make_squared_error(const squared_error_shape& s) {
  if (auto wrong = wrong_count("squared_error", s.count)) return *wrong;
  return op_ptr(std::make_unique<squared_error_op>(static_cast<std::size_t>(s.count)));
}

}  // namespace perigee::kernels
