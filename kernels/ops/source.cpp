// A parameter as a tensor: forward repeats it, backward adds up the repetitions, the first one
// first.
#include "kernels/ops/extents.hpp"
#include "kernels/ops/ops.hpp"
#include "kernels/ops/vector_math.hpp"

#include <algorithm>

namespace perigee::kernels {
namespace {

PERIGEE_CLONES void add_to(float* to, const float* from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] += from[i];
}

class source_op final : public op {
public:
  explicit source_op(const source_shape& s)
      : count_(static_cast<std::size_t>(s.count)), repeat_(static_cast<std::size_t>(s.repeat)) {
    needs_.out_count = {count_ * repeat_};
    needs_.param_count = {count_};
    needs_.forward_work = needs_.backward_work = count_ * repeat_;
  }
  [[nodiscard]] const op_needs& needs() const noexcept override { return needs_; }

  void forward(const op_call& c) override {
    for (std::size_t r = 0; r < repeat_; ++r)
      std::copy_n(c.param[0], count_, c.out[0] + r * count_);
  }
  void backward_inputs(const op_call& c) override { (void)c; }
  void backward_weights(const op_call& c) override {
    for (std::size_t r = 0; r < repeat_; ++r) add_to(c.dparam[0], c.dout[0] + r * count_, count_);
  }

private:
  std::size_t count_, repeat_;
  op_needs needs_;
};

}  // namespace

result<op_ptr> make_source(const source_shape& s) {
  const named_extent count{"count", s.count}, repeat{"repeat", s.repeat};
  if (auto fits = checked_extents("source", {count, repeat}); !fits) return fits.why();
  if (auto fits = checked_count("source", {count, repeat}); !fits) return fits.why();
  return op_ptr(std::make_unique<source_op>(s));
}

}  // namespace perigee::kernels
