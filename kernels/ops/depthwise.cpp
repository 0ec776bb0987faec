#include "kernels/ops/depthwise.hpp"

#include "kernels/ops/lanes.hpp"

#include <algorithm>

namespace perigee::kernels {
namespace {

/// A kernel position that falls on a pixel.
struct tap {
  std::int64_t pixel = 0;
  std::int64_t kernel = 0;
};

/// For each index along one axis the taps that reach inside, in kernel order.
using taps = std::vector<std::vector<tap>>;

struct axis {
  std::int64_t in = 0, out = 0, kernel = 0;
};

/// For each output index: the input pixels under its window.
taps taps_of_outputs(const conv2d_shape& s, const axis& a) {
  taps all(static_cast<std::size_t>(a.out));
  for (std::int64_t o = 0; o < a.out; ++o)
    for (std::int64_t k = 0; k < a.kernel; ++k) {
      const std::int64_t i = o * s.stride - s.padding + k * s.dilation;
      if (i >= 0 && i < a.in) all[static_cast<std::size_t>(o)].push_back({i, k});
    }
  return all;
}

/// For each input index: the outputs whose window covers it.
taps taps_of_inputs(const conv2d_shape& s, const axis& a) {
  taps all(static_cast<std::size_t>(a.in));
  for (std::int64_t k = 0; k < a.kernel; ++k)
    for (std::int64_t o = 0; o < a.out; ++o) {
      const std::int64_t i = o * s.stride - s.padding + k * s.dilation;
      if (i >= 0 && i < a.in) all[static_cast<std::size_t>(i)].push_back({o, k});
    }
  return all;
}

/// One row of pixels out of an image of rows: what the loops below need.
struct row_job {
  const float* image = nullptr;   // [H, W, C]
  const float* weight = nullptr;  // [KH, KW, C]
  float* out = nullptr;           // [W', C]
  std::int64_t W = 0, C = 0, KW = 0;
  const std::vector<tap>* down = nullptr;
  const taps* across = nullptr;
};

/// 32 channels of one pixel: out = sum over taps of image · weight.
PERIGEE_INLINE void pixel_32(const row_job& j, const std::vector<tap>& across, std::int64_t c,
                             float* out) {
  v8 s0{}, s1{}, s2{}, s3{}, x{}, w{};
  for (const tap& d : *j.down)
    for (const tap& a : across) {
      const float* image = j.image + (d.pixel * j.W + a.pixel) * j.C + c;
      const float* weight = j.weight + (d.kernel * j.KW + a.kernel) * j.C + c;
      load(x, image), load(w, weight), s0 += x * w;
      load(x, image + 8), load(w, weight + 8), s1 += x * w;
      load(x, image + 16), load(w, weight + 16), s2 += x * w;
      load(x, image + 24), load(w, weight + 24), s3 += x * w;
    }
  store(out, s0), store(out + 8, s1), store(out + 16, s2), store(out + 24, s3);
}

PERIGEE_INLINE void pixel_8(const row_job& j, const std::vector<tap>& across, std::int64_t c,
                            float* out) {
  v8 sum{}, x{}, w{};
  for (const tap& d : *j.down)
    for (const tap& a : across) {
      load(x, j.image + (d.pixel * j.W + a.pixel) * j.C + c);
      load(w, j.weight + (d.kernel * j.KW + a.kernel) * j.C + c);
      sum += x * w;
    }
  store(out, sum);
}

PERIGEE_INLINE void pixel_1(const row_job& j, const std::vector<tap>& across, std::int64_t c,
                            float* out) {
  float sum = 0;
  for (const tap& d : *j.down)
    for (const tap& a : across)
      sum += j.image[(d.pixel * j.W + a.pixel) * j.C + c] *
             j.weight[(d.kernel * j.KW + a.kernel) * j.C + c];
  *out = sum;
}

PERIGEE_CLONES void convolve_row(const row_job& j) {
  float* out = j.out;
  for (const std::vector<tap>& across : *j.across) {
    std::int64_t c = 0;
    for (; c + 32 <= j.C; c += 32) pixel_32(j, across, c, out + c);
    for (; c + 8 <= j.C; c += 8) pixel_8(j, across, c, out + c);
    for (; c < j.C; ++c) pixel_1(j, across, c, out + c);
    out += j.C;
  }
}

/// One row of output gradients against the input row that kernel row meets; sum[KW, C] is added to.
struct weight_job {
  const float* in = nullptr;    // [W, C]
  const float* dout = nullptr;  // [OW, C]
  float* sum = nullptr;         // [KW, C]
  std::int64_t C = 0;
  const taps* across = nullptr;  // of kernel columns: (input pixel, output pixel)
};

PERIGEE_INLINE void weights_32(const weight_job& j, const std::vector<tap>& pairs, std::int64_t c,
                               float* sum) {
  v8 s0{}, s1{}, s2{}, s3{}, x{}, y{};
  for (const tap& p : pairs) {
    const float* in = j.in + p.pixel * j.C + c;
    const float* dout = j.dout + p.kernel * j.C + c;
    load(x, in), load(y, dout), s0 += x * y;
    load(x, in + 8), load(y, dout + 8), s1 += x * y;
    load(x, in + 16), load(y, dout + 16), s2 += x * y;
    load(x, in + 24), load(y, dout + 24), s3 += x * y;
  }
  load(x, sum), s0 += x, store(sum, s0);
  load(x, sum + 8), s1 += x, store(sum + 8, s1);
  load(x, sum + 16), s2 += x, store(sum + 16, s2);
  load(x, sum + 24), s3 += x, store(sum + 24, s3);
}

PERIGEE_INLINE void weights_8(const weight_job& j, const std::vector<tap>& pairs, std::int64_t c,
                              float* sum) {
  v8 total{}, x{}, y{};
  for (const tap& p : pairs) {
    load(x, j.in + p.pixel * j.C + c), load(y, j.dout + p.kernel * j.C + c);
    total += x * y;
  }
  load(x, sum), total += x, store(sum, total);
}

PERIGEE_INLINE void weights_1(const weight_job& j, const std::vector<tap>& pairs, std::int64_t c,
                              float* sum) {
  float total = 0;
  for (const tap& p : pairs) total += j.in[p.pixel * j.C + c] * j.dout[p.kernel * j.C + c];
  *sum += total;
}

PERIGEE_CLONES void correlate_row(const weight_job& j) {
  float* sum = j.sum;
  for (const std::vector<tap>& pairs : *j.across) {
    std::int64_t c = 0;
    for (; c + 32 <= j.C; c += 32) weights_32(j, pairs, c, sum + c);
    for (; c + 8 <= j.C; c += 8) weights_8(j, pairs, c, sum + c);
    for (; c < j.C; ++c) weights_1(j, pairs, c, sum + c);
    sum += j.C;
  }
}

/// packed: weight[KH, KW, C]. scratch: the weights' gradient in that order.
class depthwise final : public op {
public:
  explicit depthwise(const conv2d_shape& s) : s_(s), K_(s.KH * s.KW) {
    const auto extent = [&](std::int64_t in, std::int64_t kernel) {
      return (in + 2 * s.padding - s.dilation * (kernel - 1) - 1) / s.stride + 1;
    };
    OH_ = extent(s.H, s.KH);
    OW_ = extent(s.W, s.KW);
    out_down_ = taps_of_outputs(s, {s.H, OH_, s.KH});
    out_across_ = taps_of_outputs(s, {s.W, OW_, s.KW});
    in_down_ = taps_of_inputs(s, {s.H, OH_, s.KH});
    in_across_ = taps_of_inputs(s, {s.W, OW_, s.KW});
    pairs_.resize(static_cast<std::size_t>(s.KW));
    for (std::int64_t o = 0; o < OW_; ++o)
      for (const tap& t : out_across_[static_cast<std::size_t>(o)])
        pairs_[static_cast<std::size_t>(t.kernel)].push_back({t.pixel, o});
    fill_needs();
  }

  const op_needs& needs() const noexcept override { return needs_; }

  void pack(std::span<const float* const> param, std::byte* packed, std::byte*) override {
    auto* to = reinterpret_cast<float*>(packed);
    for (std::int64_t c = 0; c < s_.C; ++c)
      for (std::int64_t k = 0; k < K_; ++k) to[k * s_.C + c] = param[0][c * K_ + k];
  }

  void forward(const op_call& c) override {
    const auto* in = static_cast<const float*>(c.in[0]);
    row_job j{.weight = reinterpret_cast<const float*>(c.packed),
              .W = s_.W,
              .C = s_.C,
              .KW = s_.KW,
              .across = &out_across_};
    for (std::int64_t b = 0; b < s_.B; ++b)
      for (std::int64_t oh = 0; oh < OH_; ++oh) {
        j.image = in + b * s_.H * s_.W * s_.C;
        j.out = c.out[0] + (b * OH_ + oh) * OW_ * s_.C;
        j.down = &out_down_[static_cast<std::size_t>(oh)];
        convolve_row(j);
      }
    if (s_.bias) add_to_rows(c.out[0], s_.B * OH_ * OW_, s_.C, c.param[1]);
  }

  void backward_inputs(const op_call& c) override {
    if (c.din[0] == nullptr) return;
    row_job j{.weight = reinterpret_cast<const float*>(c.packed),
              .W = OW_,
              .C = s_.C,
              .KW = s_.KW,
              .across = &in_across_};
    for (std::int64_t b = 0; b < s_.B; ++b)
      for (std::int64_t h = 0; h < s_.H; ++h) {
        j.image = c.dout[0] + b * OH_ * OW_ * s_.C;
        j.out = c.din[0] + (b * s_.H + h) * s_.W * s_.C;
        j.down = &in_down_[static_cast<std::size_t>(h)];
        convolve_row(j);
      }
  }

  void backward_weights(const op_call& c) override {
    auto* sum = reinterpret_cast<float*>(c.scratch);
    std::fill_n(sum, static_cast<std::size_t>(K_ * s_.C), 0.0F);
    const auto* in = static_cast<const float*>(c.in[0]);
    weight_job j{.C = s_.C, .across = &pairs_};
    for (std::int64_t b = 0; b < s_.B; ++b)
      for (std::int64_t oh = 0; oh < OH_; ++oh)
        for (const tap& t : out_down_[static_cast<std::size_t>(oh)]) {
          j.in = in + (b * s_.H + t.pixel) * s_.W * s_.C;
          j.dout = c.dout[0] + (b * OH_ + oh) * OW_ * s_.C;
          j.sum = sum + t.kernel * s_.KW * s_.C;
          correlate_row(j);
        }
    for (std::int64_t ch = 0; ch < s_.C; ++ch)
      for (std::int64_t k = 0; k < K_; ++k) c.dparam[0][ch * K_ + k] += sum[k * s_.C + ch];
    if (s_.bias) add_column_sums(c.dout[0], s_.B * OH_ * OW_, s_.C, c.dparam[1]);
  }

private:
  void fill_needs() {
    const auto count = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    const std::size_t outputs = count(s_.B * OH_ * OW_) * count(s_.C);
    needs_.out_count = {outputs};
    needs_.param_count = {count(s_.C * K_)};
    if (s_.bias) needs_.param_count.push_back(count(s_.C));
    needs_.backward_reads_in = {true};
    needs_.packed_bytes = count(s_.C * K_) * sizeof(float);
    needs_.scratch_bytes = needs_.packed_bytes;
    needs_.forward_work = 2 * outputs * count(K_);
    needs_.backward_work = 2 * needs_.forward_work;
  }

  conv2d_shape s_;
  std::int64_t K_, OH_ = 0, OW_ = 0;
  taps out_down_, out_across_;  // of output rows and columns
  taps in_down_, in_across_;    // of input rows and columns
  taps pairs_;                  // of kernel columns: (input pixel, output pixel)
  op_needs needs_;
};

}  // namespace

op_ptr make_depthwise(const conv2d_shape& s) { return std::make_unique<depthwise>(s); }

}  // namespace perigee::kernels
