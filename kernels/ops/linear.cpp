#include "kernels/engine.hpp"
#include "kernels/ops/extents.hpp"
#include "kernels/ops/lanes.hpp"
#include "kernels/ops/ops.hpp"

namespace perigee::kernels {
namespace {

/// Saves nothing, needs no scratch. Backward: din = dout · weight; dweight += doutᵀ · in, dbias +=
/// column sums of dout.
class linear final : public op {
public:
  explicit linear(const linear_shape& s) : s_(s) {
    const auto count = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    needs_.out_count = {count(s.R * s.N)};
    needs_.param_count = {count(s.N * s.C)};
    if (s.bias) needs_.param_count.push_back(count(s.N));
    needs_.backward_reads_in = {true};
    needs_.forward_work = static_cast<std::uint64_t>(2 * s.R * s.C * s.N);
    needs_.backward_work = 2 * needs_.forward_work;
  }

  const op_needs& needs() const noexcept override { return needs_; }

  void forward(const op_call& c) override {
    multiply({.M = s_.R,
              .N = s_.N,
              .K = s_.C,
              .a = {static_cast<const float*>(c.in[0]), s_.C},
              .b = {c.param[0], s_.C, order::transposed},
              .out = c.out[0],
              .out_stride = s_.N});
    if (s_.bias) add_to_rows(c.out[0], s_.R, s_.N, c.param[1]);
  }

  void backward_inputs(const op_call& c) override {
    if (c.din[0] == nullptr) return;
    multiply({.M = s_.R,
              .N = s_.C,
              .K = s_.N,
              .a = {c.dout[0], s_.N},
              .b = {c.param[0], s_.C},
              .out = c.din[0],
              .out_stride = s_.C});
  }

  void backward_weights(const op_call& c) override {
    multiply({.M = s_.N,
              .N = s_.C,
              .K = s_.R,
              .a = {c.dout[0], s_.N, order::transposed},
              .b = {static_cast<const float*>(c.in[0]), s_.C},
              .how = into::accumulate,
              .out = c.dparam[0],
              .out_stride = s_.C});
    if (s_.bias) add_column_sums(c.dout[0], s_.R, s_.N, c.dparam[1]);
  }

private:
  linear_shape s_;
  op_needs needs_;
};

}  // namespace

result<op_ptr> make_linear(const linear_shape& s) {
  const named_extent R{"rows", s.R}, C{"in", s.C}, N{"out", s.N};
  if (auto fits = checked_extents("linear", {R, C, N}); !fits) return fits.why();
  for (auto fits : {checked_count("linear", {R, C}), checked_count("linear", {N, C}),
                    checked_count("linear", {R, N})})
    if (!fits) return fits.why();
  return op_ptr(std::make_unique<linear>(s));
}

}  // namespace perigee::kernels
