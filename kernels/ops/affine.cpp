// out = in * scale + shift, element by element; din = dout * scale, overwritten. Both may lie where
// they came from.
#include "kernels/ops/extents.hpp"
#include "kernels/ops/ops.hpp"
#include "kernels/ops/vector_math.hpp"

namespace perigee::kernels {
namespace {

PERIGEE_CLONES void scaled(const float* in, float* out, std::size_t count, float scale,
                           float shift) {
  for (std::size_t i = 0; i < count; ++i) out[i] = in[i] * scale + shift;
}

class affine_op final : public op {
public:
  explicit affine_op(const affine_shape& s) : s_(s), count_(static_cast<std::size_t>(s.count)) {
    needs_.out_count = {count_};
    needs_.backward_reads_in = {false};
    needs_.in_place = true;
    needs_.forward_work = 2 * count_;
    needs_.backward_work = count_;
  }
  [[nodiscard]] const op_needs& needs() const noexcept override { return needs_; }

  void forward(const op_call& c) override {
    scaled(static_cast<const float*>(c.in[0]), c.out[0], count_, s_.scale, s_.shift);
  }
  void backward_inputs(const op_call& c) override {
    if (c.din[0] != nullptr) scaled(c.dout[0], c.din[0], count_, s_.scale, 0);
  }

private:
  affine_shape s_;
  std::size_t count_;
  op_needs needs_;
};

}  // namespace

result<op_ptr> make_affine(const affine_shape& s) {
  if (auto fits = checked_extents("affine", {{"count", s.count}}); !fits) return fits.why();
  if (auto fits = checked_count("affine", {{"count", s.count}}); !fits) return fits.why();
  return op_ptr(std::make_unique<affine_op>(s));
}

}  // namespace perigee::kernels
