// Softmax cross entropy of rows of logits against class numbers.
//
//   forward   loss = sum over counted rows of log(sum of e^logits) - logits[target], a left fold in
//             f64; largest logit and 1 / sum of each row are saved
//   backward  din = (softmax - one-hot) * loss_scale, overwritten; zero in rows that do not count
#include "kernels/ops/ops.hpp"
#include "kernels/ops/shape_check.hpp"
#include "kernels/ops/softmax_row.hpp"

#include <algorithm>

namespace perigee::kernels {
namespace {

struct cross_entropy_rows {
  std::size_t R = 0, V = 0;
  std::int32_t ignore = -100;
};

/// saved: row_scale[R]; scratch: a row of exponentials
PERIGEE_CLONES void cross_entropy_forward(const cross_entropy_rows& s, const op_call& c) {
  const auto* target = static_cast<const std::int32_t*>(c.in[1]);
  auto* saved = reinterpret_cast<row_scale*>(c.saved[0]);
  auto* row = reinterpret_cast<float*>(c.scratch);
  double loss = 0;
  for (std::size_t r = 0; r < s.R; ++r) {
    if (target[r] == s.ignore) continue;
    CHECK(target[r] >= 0 && static_cast<std::size_t>(target[r]) < s.V);
    const float* x = static_cast<const float*>(c.in[0]) + r * s.V;
    saved[r] = exponentials(x, row, s.V);
    const double sum = 1.0 / static_cast<double>(saved[r].inverse_sum);
    const double above = static_cast<double>(saved[r].largest) - static_cast<double>(x[target[r]]);
    // A sum that is no number (its logits were not finite) must show in the loss.
    loss += sum > 0 ? natural_log(sum) + above : sum;
  }
  *c.loss = loss;
}

PERIGEE_CLONES void cross_entropy_backward(const cross_entropy_rows& s, const op_call& c) {
  const auto* target = static_cast<const std::int32_t*>(c.in[1]);
  const auto* saved = reinterpret_cast<const row_scale*>(c.saved[0]);
  const auto scale = static_cast<float>(c.loss_scale);
  for (std::size_t r = 0; r < s.R; ++r) {
    float* dx = c.din[0] + r * s.V;
    if (target[r] == s.ignore) {
      std::fill_n(dx, s.V, 0.0F);
      continue;
    }
    const float* x = static_cast<const float*>(c.in[0]) + r * s.V;
    const row_scale row = saved[r];
#pragma GCC ivdep
    for (std::size_t i = 0; i < s.V; ++i)
      dx[i] = vector_exp(x[i] - row.largest) * row.inverse_sum * scale;
    const float p = vector_exp(x[target[r]] - row.largest) * row.inverse_sum;
    dx[target[r]] = (p - 1.0F) * scale;
  }
}

class cross_entropy_op final : public op {
public:
  explicit cross_entropy_op(const cross_entropy_shape& s)
      : rows_{static_cast<std::size_t>(s.R), static_cast<std::size_t>(s.V), s.ignore} {
    needs_.saved_bytes = {rows_.R * sizeof(row_scale)};
    needs_.scratch_bytes = rows_.V * sizeof(float);
    needs_.backward_reads_in = {true, true};
    needs_.forward_work = 24 * rows_.R * rows_.V;
    needs_.backward_work = 24 * rows_.R * rows_.V;
  }
  [[nodiscard]] const op_needs& needs() const noexcept override { return needs_; }
  void forward(const op_call& c) override { cross_entropy_forward(rows_, c); }
  void backward_inputs(const op_call& c) override {
    if (c.din[0] != nullptr) cross_entropy_backward(rows_, c);
  }

private:
  cross_entropy_rows rows_;
  op_needs needs_;
};

}  // namespace

result<op_ptr> make_cross_entropy(const cross_entropy_shape& s) {
  if (auto wrong = wrong_dimension("cross_entropy", {{"R", s.R}, {"V", s.V}})) return *wrong;
  if (s.ignore >= 0 && s.ignore < s.V)
    return error{errc::malformed, "cross_entropy: ignore is " + std::to_string(s.ignore) +
                                      ", which is one of the " + std::to_string(s.V) + " classes"};
  return op_ptr(std::make_unique<cross_entropy_op>(s));
}

}  // namespace perigee::kernels
