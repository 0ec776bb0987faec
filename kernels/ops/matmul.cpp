#include "kernels/engine.hpp"
#include "kernels/ops/extents.hpp"
#include "kernels/ops/ops.hpp"

namespace perigee::kernels {
namespace {

/// in: a, b. Saves nothing, needs no scratch. Backward: da = dout · bᵀ, db = aᵀ · dout.
class matmul final : public op {
public:
  explicit matmul(const matmul_shape& s) : s_(s) {
    needs_.out_count = {static_cast<std::size_t>(s.G * s.R * s.N)};
    needs_.backward_reads_in = {true, true};
    needs_.forward_work = static_cast<std::uint64_t>(2 * s.G * s.R * s.C * s.N);
    needs_.backward_work = 2 * needs_.forward_work;
  }

  const op_needs& needs() const noexcept override { return needs_; }

  void forward(const op_call& c) override {
    const auto* a = static_cast<const float*>(c.in[0]);
    const auto* b = static_cast<const float*>(c.in[1]);
    for (std::int64_t g = 0; g < s_.G; ++g)
      multiply({.M = s_.R,
                .N = s_.N,
                .K = s_.C,
                .a = {a + g * s_.R * s_.C, s_.C},
                .b = {b + g * s_.C * s_.N, s_.N},
                .out = c.out[0] + g * s_.R * s_.N,
                .out_stride = s_.N});
  }

  void backward_inputs(const op_call& c) override {
    const auto* a = static_cast<const float*>(c.in[0]);
    const auto* b = static_cast<const float*>(c.in[1]);
    for (std::int64_t g = 0; g < s_.G; ++g) {
      const float* dout = c.dout[0] + g * s_.R * s_.N;
      if (c.din[0] != nullptr)
        multiply({.M = s_.R,
                  .N = s_.C,
                  .K = s_.N,
                  .a = {dout, s_.N},
                  .b = {b + g * s_.C * s_.N, s_.N, order::transposed},
                  .out = c.din[0] + g * s_.R * s_.C,
                  .out_stride = s_.C});
      if (c.din[1] != nullptr)
        multiply({.M = s_.C,
                  .N = s_.N,
                  .K = s_.R,
                  .a = {a + g * s_.R * s_.C, s_.C, order::transposed},
                  .b = {dout, s_.N},
                  .out = c.din[1] + g * s_.C * s_.N,
                  .out_stride = s_.N});
    }
  }

private:
  matmul_shape s_;
  op_needs needs_;
};

}  // namespace

result<op_ptr> make_matmul(const matmul_shape& s) {
  const named_extent G{"groups", s.G}, R{"rows", s.R}, C{"inner", s.C}, N{"columns", s.N};
  if (auto fits = checked_extents("matmul", {G, R, C, N}); !fits) return fits.why();
  for (auto fits : {checked_count("matmul", {G, R, C}), checked_count("matmul", {G, C, N}),
                    checked_count("matmul", {G, R, N})})
    if (!fits) return fits.why();
  return op_ptr(std::make_unique<matmul>(s));
}

}  // namespace perigee::kernels
