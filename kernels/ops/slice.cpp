// A run of one dimension: forward copies it out, backward copies it back between zeros
// (overwritten).
#include "kernels/ops/extents.hpp"
#include "kernels/ops/ops.hpp"

#include <algorithm>

namespace perigee::kernels {
namespace {

class slice_op final : public op {
public:
  explicit slice_op(const slice_shape& s)
      : outer_(static_cast<std::size_t>(s.outer)),
        whole_(static_cast<std::size_t>(s.size * s.inner)),
        before_(static_cast<std::size_t>(s.begin * s.inner)),
        run_(static_cast<std::size_t>(s.count * s.inner)) {
    needs_.out_count = {outer_ * run_};
    needs_.backward_reads_in = {false};
    needs_.forward_work = outer_ * run_;
    needs_.backward_work = outer_ * whole_;
  }
  [[nodiscard]] const op_needs& needs() const noexcept override { return needs_; }

  void forward(const op_call& c) override {
    const auto* in = static_cast<const float*>(c.in[0]);
    for (std::size_t o = 0; o < outer_; ++o)
      std::copy_n(in + o * whole_ + before_, run_, c.out[0] + o * run_);
  }
  void backward_inputs(const op_call& c) override {
    if (c.din[0] == nullptr) return;
    for (std::size_t o = 0; o < outer_; ++o) {
      float* din = c.din[0] + o * whole_;
      std::fill_n(din, before_, 0.0F);
      std::copy_n(c.dout[0] + o * run_, run_, din + before_);
      std::fill(din + before_ + run_, din + whole_, 0.0F);
    }
  }

private:
  std::size_t outer_, whole_, before_, run_;
  op_needs needs_;
};

}  // namespace

result<op_ptr> make_slice(const slice_shape& s) {
  const named_extent outer{"outer", s.outer}, size{"size", s.size}, inner{"inner", s.inner};
  if (auto fits = checked_extents("slice", {outer, size, inner, {"count", s.count}}); !fits)
    return fits.why();
  if (auto fits = checked_count("slice", {outer, size, inner}); !fits) return fits.why();
  if (s.begin < 0 || s.begin > s.size - s.count)
    return error{errc::malformed, "slice: from " + std::to_string(s.begin) + ", " +
                                      std::to_string(s.count) + " of " + std::to_string(s.size)};
  return op_ptr(std::make_unique<slice_op>(s));
}

}  // namespace perigee::kernels
