// Batch norm over the rows [R, C] of nhwc images, R = B·H·W, in two passes of memory: one for the
// statistics, one to apply them. oneDNN's own saves a mask for the fused ReLU; here backward finds
// it again from what forward saw, bit for bit.
#include "kernels/ops/extents.hpp"
#include "kernels/ops/lanes.hpp"
#include "kernels/ops/ops.hpp"

#include <algorithm>
#include <cmath>

namespace perigee::kernels {
namespace {

/// Rows are taken in runs that stay in the first cache: their own mean first, then the squares
/// about it in f32; runs are merged in f64 (Chan, Golub, LeVeque, 1979). No cancellation, whatever
/// the mean.
constexpr std::int64_t run_rows = 64;

struct moments {
  double count = 0, mean[8] = {}, squares[8] = {};
};

/// What one run says of eight channels: the mean is `mean` + `left`.
struct run_figures {
  float mean[8], left[8], squares[8];
};

void merge(moments& all, std::int64_t rows, const run_figures& run) {
  const auto n = static_cast<double>(rows);
  const double total = all.count + n;
  for (int j = 0; j < 8; ++j) {
    const double delta =
        static_cast<double>(run.mean[j]) + static_cast<double>(run.left[j]) - all.mean[j];
    all.mean[j] += delta * (n / total);
    all.squares[j] += static_cast<double>(run.squares[j]) + delta * delta * (all.count * n / total);
  }
  all.count = total;
}

/// Eight channels of `rows` rows, `stride` values apart.
PERIGEE_CLONES void run_moments(const float* x, std::int64_t rows, std::int64_t stride,
                                run_figures& out) {
  v8 first{}, value{}, sum{}, rest{}, squares{};
  load(first, x);
  for (std::int64_t r = 0; r < rows; ++r) {
    load(value, x + r * stride);
    sum += value - first;
  }
  const float scale = 1.0F / static_cast<float>(rows);
  const v8 mean = first + sum * scale;
  for (std::int64_t r = 0; r < rows; ++r) {
    load(value, x + r * stride);
    value -= mean;
    rest += value;
    squares += value * value;
  }
  // What rounding left of the mean, and its share of the squares.
  const v8 left = rest * scale;
  store(out.mean, mean), store(out.left, left);
  store(out.squares, squares - rest * left);
}

/// A group narrower than eight channels is copied to a padded run first.
void pad(const float* from, std::int64_t rows, std::int64_t stride, std::int64_t width, float* to) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t j = 0; j < width; ++j) to[r * 8 + j] = from[r * stride + j];
}

/// The moments of all channels, eight a group; a run of all channels at a time.
void sum_moments(const float* x, std::int64_t R, std::int64_t C, std::span<moments> groups) {
  std::fill(groups.begin(), groups.end(), moments{});
  float padded[run_rows * 8] = {};
  run_figures run{};
  for (std::int64_t r = 0; r < R; r += run_rows) {
    const std::int64_t rows = std::min(run_rows, R - r);
    for (std::int64_t c = 0; c < C; c += 8) {
      const float* at = x + r * C + c;
      const bool narrow = C - c < 8;
      if (narrow) pad(at, rows, C, C - c, padded);
      run_moments(narrow ? padded : at, rows, narrow ? 8 : C, run);
      merge(groups[static_cast<std::size_t>(c / 8)], rows, run);
    }
  }
}

/// The figures of each channel that the passes use.
struct channel_values {
  const float *mean = nullptr, *scale = nullptr, *bias = nullptr;  // scale = weight / deviation
};

enum class then : std::uint8_t { nothing, relu };

/// out = (x - mean) * scale + bias, then ReLU if asked. In place is fine.
PERIGEE_CLONES void apply(const float* x, std::int64_t R, std::int64_t C, const channel_values& v,
                          float* out, then last) {
  for (std::int64_t r = 0; r < R; ++r, x += C, out += C) {
    if (last == then::relu) {
      for (std::int64_t c = 0; c < C; ++c) {
        const float y = (x[c] - v.mean[c]) * v.scale[c] + v.bias[c];
        out[c] = y <= 0.0F ? 0.0F : y;  // a NaN stays one
      }
    } else {
      for (std::int64_t c = 0; c < C; ++c) out[c] = (x[c] - v.mean[c]) * v.scale[c] + v.bias[c];
    }
  }
}

/// Sums of one channel group's dy and dy · (x - mean), where the ReLU let through.
struct gradient_job {
  const float *x = nullptr, *dy = nullptr;
  std::int64_t rows = 0, stride = 0;
  const float *mean = nullptr, *scale = nullptr, *bias = nullptr;  // eight each
  then last = then::nothing;
};

PERIGEE_CLONES void run_gradient(const gradient_job& j, float* sum_out, float* product_out) {
  v8 mean{}, scale{}, bias{}, x{}, dy{}, sum{}, product{};
  const v8 zero{};
  load(mean, j.mean), load(scale, j.scale), load(bias, j.bias);
  for (std::int64_t r = 0; r < j.rows; ++r) {
    load(x, j.x + r * j.stride), load(dy, j.dy + r * j.stride);
    x -= mean;
    if (j.last == then::relu) dy = x * scale + bias <= zero ? zero : dy;
    sum += dy;
    product += dy * x;
  }
  store(sum_out, sum), store(product_out, product);
}

struct gradient_sums {
  double dy[8] = {}, product[8] = {};
};

/// The sums of all channels; a run of all channels at a time. `j` names x, dy, the whole arrays of
/// figures and the ReLU.
void sum_gradients(gradient_job j, std::int64_t R, std::int64_t C,
                   std::span<gradient_sums> groups) {
  std::fill(groups.begin(), groups.end(), gradient_sums{});
  const gradient_job whole = j;
  float x[run_rows * 8] = {}, dy[run_rows * 8] = {}, sum[8], product[8];
  float mean[8] = {}, scale[8] = {}, bias[8] = {};
  for (std::int64_t r = 0; r < R; r += run_rows) {
    j.rows = std::min(run_rows, R - r);
    for (std::int64_t c = 0; c < C; c += 8) {
      j.x = whole.x + r * C + c, j.dy = whole.dy + r * C + c, j.stride = C;
      j.mean = whole.mean + c, j.scale = whole.scale + c, j.bias = whole.bias + c;
      if (C - c < 8) {
        pad(j.x, j.rows, C, C - c, x), pad(j.dy, j.rows, C, C - c, dy);
        pad(j.mean, 1, C, C - c, mean), pad(j.scale, 1, C, C - c, scale);
        pad(j.bias, 1, C, C - c, bias);
        j.x = x, j.dy = dy, j.stride = 8, j.mean = mean, j.scale = scale, j.bias = bias;
      }
      run_gradient(j, sum, product);
      gradient_sums& all = groups[static_cast<std::size_t>(c / 8)];
      for (int i = 0; i < 8; ++i)
        all.dy[i] += static_cast<double>(sum[i]), all.product[i] += static_cast<double>(product[i]);
    }
  }
}

/// dx = (dy - offset - (x - mean) * slope) * scale, where dy counts if the ReLU let it through.
struct input_gradient {
  channel_values v;
  const float *offset = nullptr, *slope = nullptr;
};

PERIGEE_CLONES void apply_gradient(const float* x, const float* dy, std::int64_t R, std::int64_t C,
                                   const input_gradient& g, float* dx, then last) {
  for (std::int64_t r = 0; r < R; ++r, x += C, dy += C, dx += C)
    for (std::int64_t c = 0; c < C; ++c) {
      const float about = x[c] - g.v.mean[c];
      const float y = about * g.v.scale[c] + g.v.bias[c];
      const float in = (last == then::relu) & (y <= 0.0F) ? 0.0F : dy[c];
      dx[c] = (in - g.offset[c] - about * g.slope[c]) * g.v.scale[c];
    }
}

/// What forward leaves for backward, and backward_inputs for backward_weights: one array each.
struct kept {
  float* mean;
  float* scale;    // weight / deviation
  float* inverse;  // 1 / deviation
  float* sum;      // of dy
  float* product;  // of dy · (x - mean)
  float* summed;   // one value: 1 = backward_inputs left both sums of this dout
};

class batch_norm final : public op {
public:
  explicit batch_norm(const batch_norm_shape& s)
      : s_(s), R_(s.B * s.H * s.W), last_(s.relu ? then::relu : then::nothing) {
    const auto C = static_cast<std::size_t>(s.C), R = static_cast<std::size_t>(R_);
    needs_.out_count = {R * C};
    needs_.param_count = {C, C};
    needs_.backward_reads_in = {s.pass == pass_kind::training};
    needs_.forward_work = 4 * R * C;
    needs_.scratch_bytes = groups() * std::max(sizeof(moments), sizeof(gradient_sums));
    if (s.pass == pass_kind::evaluation) return;
    needs_.saved_bytes = {(5 * C + 1) * sizeof(float)};
    needs_.statistics_count = 2 * C;
    needs_.forward_work = 8 * R * C;
    needs_.backward_work = 12 * R * C;
  }

  const op_needs& needs() const noexcept override { return needs_; }

  void forward(const op_call& c) override {
    const auto* x = static_cast<const float*>(c.in[0]);
    if (s_.pass == pass_kind::evaluation) return evaluate(c, x);
    const kept k = kept_in(c);
    const std::span<moments> all(reinterpret_cast<moments*>(c.scratch), groups());
    sum_moments(x, R_, s_.C, all);
    for (std::int64_t ch = 0; ch < s_.C; ++ch) {
      const moments& m = all[static_cast<std::size_t>(ch / 8)];
      take(c, k, ch, m.mean[ch % 8], m.squares[ch % 8]);
    }
    *k.summed = 0;
    apply(x, R_, s_.C, {k.mean, k.scale, c.param[1]}, c.out[0], last_);
  }

  void backward_inputs(const op_call& c) override {
    if (c.din[0] == nullptr) return;
    const kept k = kept_in(c);
    sum_gradient(c, k);
    auto* offset = reinterpret_cast<float*>(c.scratch);
    float* slope = offset + s_.C;
    const double share = 1.0 / static_cast<double>(R_);
    for (std::int64_t ch = 0; ch < s_.C; ++ch) {
      const auto inverse = static_cast<double>(k.inverse[ch]);
      offset[ch] = static_cast<float>(static_cast<double>(k.sum[ch]) * share);
      slope[ch] =
          static_cast<float>(static_cast<double>(k.product[ch]) * share * inverse * inverse);
    }
    apply_gradient(static_cast<const float*>(c.in[0]), c.dout[0], R_, s_.C,
                   {{k.mean, k.scale, c.param[1]}, offset, slope}, c.din[0], last_);
    *k.summed = 1;
  }

  /// If `backward_inputs` ran since the last forward or the last of this, it was for the same dout.
  void backward_weights(const op_call& c) override {
    const kept k = kept_in(c);
    if (*k.summed == 0.0F) sum_gradient(c, k);
    *k.summed = 0;
    for (std::int64_t ch = 0; ch < s_.C; ++ch) {
      c.dparam[0][ch] += k.product[ch] * k.inverse[ch];
      c.dparam[1][ch] += k.sum[ch];
    }
  }

private:
  kept kept_in(const op_call& c) const {
    auto* at = reinterpret_cast<float*>(c.saved[0]);
    return {at, at + s_.C, at + 2 * s_.C, at + 3 * s_.C, at + 4 * s_.C, at + 5 * s_.C};
  }

  void take(const op_call& c, const kept& k, std::int64_t ch, double mean, double squares) const {
    const auto n = static_cast<double>(R_);
    const double inverse = 1.0 / std::sqrt(squares / n + static_cast<double>(s_.epsilon));
    k.mean[ch] = static_cast<float>(mean);
    k.inverse[ch] = static_cast<float>(inverse);
    k.scale[ch] = static_cast<float>(static_cast<double>(c.param[0][ch]) * inverse);
    c.statistics[ch] = static_cast<float>(mean);
    c.statistics[s_.C + ch] = static_cast<float>(squares / (n - 1));
  }

  void evaluate(const op_call& c, const float* x) const {
    auto* scale = reinterpret_cast<float*>(c.scratch);
    for (std::int64_t ch = 0; ch < s_.C; ++ch) {
      const double variance = static_cast<double>(c.running[s_.C + ch]);
      scale[ch] = static_cast<float>(static_cast<double>(c.param[0][ch]) /
                                     std::sqrt(variance + static_cast<double>(s_.epsilon)));
    }
    apply(x, R_, s_.C, {c.running, scale, c.param[1]}, c.out[0], last_);
  }

  void sum_gradient(const op_call& c, const kept& k) const {
    const std::span<gradient_sums> all(reinterpret_cast<gradient_sums*>(c.scratch), groups());
    sum_gradients({.x = static_cast<const float*>(c.in[0]),
                   .dy = c.dout[0],
                   .mean = k.mean,
                   .scale = k.scale,
                   .bias = c.param[1],
                   .last = last_},
                  R_, s_.C, all);
    for (std::int64_t ch = 0; ch < s_.C; ++ch) {
      const gradient_sums& g = all[static_cast<std::size_t>(ch / 8)];
      k.sum[ch] = static_cast<float>(g.dy[ch % 8]);
      k.product[ch] = static_cast<float>(g.product[ch % 8]);
    }
  }

  /// Groups of eight channels.
  std::size_t groups() const { return static_cast<std::size_t>((s_.C + 7) / 8); }

  batch_norm_shape s_;
  std::int64_t R_;
  then last_;
  op_needs needs_;
};

}  // namespace

result<op_ptr> make_batch_norm(const batch_norm_shape& s) {
  const named_extent B{"batch", s.B}, C{"channels", s.C}, H{"height", s.H}, W{"width", s.W};
  if (auto fits = checked_extents("batch_norm", {B, C, H, W}); !fits) return fits.why();
  if (auto fits = checked_count("batch_norm", {B, C, H, W}); !fits) return fits.why();
  if (!(s.epsilon >= 0.0F) || !std::isfinite(s.epsilon))
    return error{errc::malformed, "batch_norm: epsilon is not a number of at least 0"};
  if (s.pass == pass_kind::training && s.B * s.H * s.W == 1)
    return error{errc::malformed, "batch_norm: one value a channel has no variance to train with"};
  return op_ptr(std::make_unique<batch_norm>(s));
}

}  // namespace perigee::kernels
