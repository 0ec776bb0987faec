// A convolution of many channels is a product of patches and weights: gathered 256 rows at a time
// they stay in the cache, and one thread of dnnl_sgemm then beats oneDNN's own nhwc convolutions on
// AVX2. Few channels go to oneDNN's (direct.hpp), depthwise ones to loops of our own.
#include "kernels/calibrate.hpp"
#include "kernels/engine.hpp"
#include "kernels/ops/depthwise.hpp"
#include "kernels/ops/direct.hpp"
#include "kernels/ops/extents.hpp"
#include "kernels/ops/lanes.hpp"
#include "kernels/ops/ops.hpp"
#include "kernels/ops/patches.hpp"

#include <algorithm>

namespace perigee::kernels {
namespace {

constexpr std::int64_t chunk_rows = 256;

std::int64_t out_extent(const conv2d_shape& s, std::int64_t in, std::int64_t kernel) {
  return (in + 2 * s.padding - s.dilation * (kernel - 1) - 1) / s.stride + 1;
}

/// The letters of the comments: Cg = C/groups, Ng = N/groups, K = KH·KW.
/// packed: for each group weight[K·Cg, Ng], then, if `flipped`, for each group weight[K·Ng, Cg]
/// with the window turned by half a circle. Saves nothing.
class convolution final : public op {
public:
  explicit convolution(const conv2d_shape& s)
      : s_(s), Cg_(s.C / s.groups), Ng_(s.N / s.groups), K_(s.KH * s.KW) {
    const std::int64_t OH = out_extent(s, s.H, s.KH), OW = out_extent(s, s.W, s.KW);
    in_ = {.B = s.B,
           .H = s.H,
           .W = s.W,
           .C = Cg_,
           .pixel = s.C,
           .OH = OH,
           .OW = OW,
           .KH = s.KH,
           .KW = s.KW,
           .stride = s.stride,
           .dilation = s.dilation,
           .top = s.padding,
           .left = s.padding};
    dout_ = {.B = s.B,
             .H = OH,
             .W = OW,
             .C = Ng_,
             .pixel = s.N,
             .OH = s.H,
             .OW = s.W,
             .KH = s.KH,
             .KW = s.KW,
             .stride = 1,
             .dilation = s.dilation,
             .top = s.dilation * (s.KH - 1) - s.padding,
             .left = s.dilation * (s.KW - 1) - s.padding};
    direct_ = K_ == 1 && s.stride == 1 && s.padding == 0;
    flipped_ = !direct_ && s.stride == 1;
    fill_needs();
  }

  const op_needs& needs() const noexcept override { return needs_; }

  void pack(std::span<const float* const> param, std::byte* packed, std::byte*) override {
    auto* to = reinterpret_cast<float*>(packed);
    for (std::int64_t g = 0; g < s_.groups; ++g)
      pack_group(param[0] + g * weights(), to + g * weights(),
                 flipped_ ? to + (s_.groups + g) * weights() : nullptr);
  }

  void forward(const op_call& c) override {
    for (std::int64_t g = 0; g < s_.groups; ++g) forward_group(c, g);
    if (s_.bias) add_to_rows(c.out[0], in_.rows(), s_.N, c.param[1]);
  }

  void backward_inputs(const op_call& c) override {
    if (c.din[0] == nullptr) return;
    if (!direct_ && !flipped_)
      std::fill_n(c.din[0], static_cast<std::size_t>(s_.B * s_.H * s_.W * s_.C), 0.0F);
    for (std::int64_t g = 0; g < s_.groups; ++g) backward_inputs_group(c, g);
  }

  void backward_weights(const op_call& c) override {
    for (std::int64_t g = 0; g < s_.groups; ++g) backward_weights_group(c, g);
    if (s_.bias) add_column_sums(c.dout[0], in_.rows(), s_.N, c.dparam[1]);
  }

private:
  void fill_needs() {
    const auto count = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    needs_.out_count = {count(in_.rows() * s_.N)};
    needs_.param_count = {count(s_.groups * weights())};
    if (s_.bias) needs_.param_count.push_back(count(s_.N));
    needs_.backward_reads_in = {true};
    needs_.packed_bytes = count(s_.groups * weights() * (flipped_ ? 2 : 1)) * sizeof(float);
    if (!direct_) {
      const std::int64_t wide = std::max(in_.columns(), flipped_ ? dout_.columns() : 0);
      const std::int64_t rows = std::min(chunk_rows, std::max(in_.rows(), s_.B * s_.H * s_.W));
      needs_.scratch_bytes = count(rows * wide + weights()) * sizeof(float);
    }
    needs_.forward_work = 2 * count(in_.rows()) * count(s_.groups * weights());
    needs_.backward_work = 2 * needs_.forward_work;
  }

  /// Values of one group's weights: Ng·Cg·K.
  std::int64_t weights() const { return Ng_ * Cg_ * K_; }

  /// weight[Ng, Cg, K] in blocks that stay in the cache.
  void pack_group(const float* weight, float* plain, float* flipped) const {
    constexpr std::int64_t block = 16;
    for (std::int64_t n0 = 0; n0 < Ng_; n0 += block)
      for (std::int64_t c0 = 0; c0 < Cg_; c0 += block)
        pack_block(weight, {n0, std::min(Ng_, n0 + block), c0, std::min(Cg_, c0 + block)}, plain,
                   flipped);
  }

  struct part {
    std::int64_t n_begin = 0, n_end = 0, c_begin = 0, c_end = 0;
  };

  void pack_block(const float* weight, const part& of, float* plain, float* flipped) const {
    for (std::int64_t k = 0; k < K_; ++k)
      for (std::int64_t n = of.n_begin; n < of.n_end; ++n)
        for (std::int64_t c = of.c_begin; c < of.c_end; ++c) {
          const float value = weight[(n * Cg_ + c) * K_ + k];
          plain[(k * Cg_ + c) * Ng_ + n] = value;
          if (flipped != nullptr) flipped[((K_ - 1 - k) * Ng_ + n) * Cg_ + c] = value;
        }
  }

  const float* plain(const op_call& c, std::int64_t g) const {
    return reinterpret_cast<const float*>(c.packed) + g * weights();
  }

  void forward_group(const op_call& c, std::int64_t g) const {
    const float* in = static_cast<const float*>(c.in[0]) + g * Cg_;
    patches_by_weights(in_, in, plain(c, g),
                       {.N = Ng_, .out = c.out[0] + g * Ng_, .out_stride = s_.N}, c.scratch);
  }

  /// out[rows, N] = patches[rows, columns] · weight[columns, N]; `to` names N and out.
  void patches_by_weights(const patches& of, const float* image, const float* weight, product to,
                          std::byte* scratch) const {
    auto* matrix = reinterpret_cast<float*>(scratch);
    float* const out = to.out;
    const std::int64_t step = direct_ ? of.rows() : chunk_rows;
    to.K = of.columns();
    to.b = {weight, to.N};
    for (std::int64_t r = 0; r < of.rows(); r += step) {
      to.M = std::min(step, of.rows() - r);
      to.a = direct_ ? factor{image, of.pixel} : factor{matrix, of.columns()};
      to.out = out + r * to.out_stride;
      if (!direct_) gather(of, image, r, to.M, matrix);
      multiply(to);
    }
  }

  void backward_inputs_group(const op_call& c, std::int64_t g) const {
    const float* dout = c.dout[0] + g * Ng_;
    float* din = c.din[0] + g * Cg_;
    if (flipped_)
      return patches_by_weights(dout_, dout, plain(c, s_.groups + g),
                                {.N = Cg_, .out = din, .out_stride = s_.C}, c.scratch);
    auto* matrix = reinterpret_cast<float*>(c.scratch);
    const std::int64_t step = direct_ ? in_.rows() : chunk_rows;
    for (std::int64_t r = 0; r < in_.rows(); r += step) {
      const std::int64_t rows = std::min(step, in_.rows() - r);
      multiply({.M = rows,
                .N = in_.columns(),
                .K = Ng_,
                .a = {dout + r * s_.N, s_.N},
                .b = {plain(c, g), Ng_, order::transposed},
                .out = direct_ ? din : matrix,
                .out_stride = direct_ ? s_.C : in_.columns()});
      if (!direct_) scatter(in_, matrix, r, rows, din);
    }
  }

  void backward_weights_group(const op_call& c, std::int64_t g) const {
    const float* in = static_cast<const float*>(c.in[0]) + g * Cg_;
    const float* dout = c.dout[0] + g * Ng_;
    float* dweight = c.dparam[0] + g * weights();
    product to{.M = Ng_, .N = in_.columns(), .out_stride = in_.columns()};
    if (direct_) {
      to.K = in_.rows();
      to.a = {dout, s_.N, order::transposed};
      to.b = {in, s_.C};
      to.how = into::accumulate;
      to.out = dweight;
      return multiply(to);
    }
    float* const sum = reinterpret_cast<float*>(c.scratch);  // [Ng, K·Cg]
    float* const matrix = sum + weights();
    to.b = {matrix, in_.columns()};
    to.out = sum;
    for (std::int64_t r = 0; r < in_.rows(); r += chunk_rows) {
      to.K = std::min(chunk_rows, in_.rows() - r);
      to.a = {dout + r * s_.N, s_.N, order::transposed};
      gather(in_, in, r, to.K, matrix);
      multiply(to);
      to.how = into::accumulate;
    }
    add_to_weights(sum, dweight);
  }

  /// dweight[Ng, Cg, K] += sum[Ng, K, Cg]
  void add_to_weights(const float* sum, float* dweight) const {
    for (std::int64_t n = 0; n < Ng_; ++n, sum += K_ * Cg_, dweight += K_ * Cg_)
      for (std::int64_t c = 0; c < Cg_; ++c)
        for (std::int64_t k = 0; k < K_; ++k) dweight[c * K_ + k] += sum[k * Cg_ + c];
  }

  conv2d_shape s_;
  std::int64_t Cg_, Ng_, K_;
  patches in_, dout_;     // of the input; of the output's gradient, for stride 1
  bool direct_ = false;   // the image is its own patch matrix
  bool flipped_ = false;  // the input's gradient is itself a convolution
  op_needs needs_;
};

result<void> checked_window(const conv2d_shape& s) {
  if (s.padding < 0)
    return error{errc::malformed,
                 "conv2d: padding is " + std::to_string(s.padding) + ", must be at least 0"};
  if (s.C % s.groups != 0 || s.N % s.groups != 0)
    return error{errc::malformed, "conv2d: " + std::to_string(s.groups) + " groups do not divide " +
                                      std::to_string(s.C) + " -> " + std::to_string(s.N) +
                                      " channels"};
  const std::int64_t reach_h = s.dilation * (s.KH - 1) + 1, reach_w = s.dilation * (s.KW - 1) + 1;
  const std::int64_t high = s.H + 2 * s.padding, wide = s.W + 2 * s.padding;
  if (reach_h > high || reach_w > wide)
    return error{errc::malformed, "conv2d: a window of " + std::to_string(reach_h) + " x " +
                                      std::to_string(reach_w) +
                                      " is larger than the padded input of " +
                                      std::to_string(high) + " x " + std::to_string(wide)};
  return {};
}

result<void> checked(const conv2d_shape& s) {
  const named_extent B{"batch", s.B}, C{"in", s.C}, H{"height", s.H}, W{"width", s.W},
      N{"out", s.N}, KH{"kernel height", s.KH}, KW{"kernel width", s.KW}, S{"stride", s.stride},
      D{"dilation", s.dilation}, G{"groups", s.groups};
  if (auto fits = checked_extents("conv2d", {B, C, H, W, N, KH, KW, S, D, G}); !fits) return fits;
  const named_extent P{"padding + 1",
                       s.padding < 0 ? 1 : std::min(s.padding, tensor_count_max) + 1};
  for (auto fits : {checked_count("conv2d", {B, C, H, W}), checked_count("conv2d", {N, C, KH, KW}),
                    checked_count("conv2d", {D, KH, KW}), checked_count("conv2d", {P, P})})
    if (!fits) return fits;
  if (auto fits = checked_window(s); !fits) return fits;
  const named_extent OH{"height", out_extent(s, s.H, s.KH)}, OW{"width", out_extent(s, s.W, s.KW)};
  for (auto fits :
       {checked_count("conv2d", {B, N, OH, OW}), checked_count("conv2d", {OH, OW, C, KH, KW})})
    if (!fits) return fits;
  return {};
}

/// Where the rows of the product would be too short: by shape alone. oneDNN 2.6 gathers the input
/// of a strided 1x1 kernel in whole vectors; with fewer channels than a vector has, the gradient of
/// the weights takes in what its scratch held before.
bool is_small(const conv2d_shape& s) {
  constexpr std::int64_t few = 32;
  constexpr std::int64_t vector = 16;  // the widest of any instruction set
  const bool strided_point = s.KH * s.KW == 1 && s.stride > 1;
  if (strided_point && s.C / s.groups % vector != 0) return false;
  return s.groups > 1 || (s.C <= few && s.N <= few) || strided_point;
}

}  // namespace

result<op_ptr> make_conv2d(const conv2d_shape& s) {
  if (auto fits = checked(s); !fits) return fits.why();
  if (auto fits = within_isa(s.isa); !fits)
    return error{fits.why().code, "conv2d: " + fits.why().what};
  if (s.groups > 1 && s.groups == s.C && s.groups == s.N) return make_depthwise(s);
  if (is_small(s))
    if (auto made = make_direct(s)) return made;
  return op_ptr(std::make_unique<convolution>(s));
}

}  // namespace perigee::kernels
