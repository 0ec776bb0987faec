#include "kernels/ops/extents.hpp"
#include "kernels/ops/lanes.hpp"
#include "kernels/ops/ops.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace perigee::kernels {
namespace {

struct window {
  std::int64_t first = 0, last = 0;  // pixels [first, last)
  std::int64_t start = 0;            // where the window begins, maybe before the image
};

/// What the windows of max and average pooling share. Padding is left out of a maximum and counts
/// as zeros in an average (as PyTorch's default).
struct windows {
  explicit windows(const pool_shape& s)
      : s_(s),
        OH((s.H + 2 * s.padding - s.kernel) / s.stride + 1),
        OW((s.W + 2 * s.padding - s.kernel) / s.stride + 1) {}

  window along(std::int64_t o, std::int64_t extent) const {
    const std::int64_t start = o * s_.stride - s_.padding;
    return {std::max<std::int64_t>(start, 0), std::min(start + s_.kernel, extent), start};
  }

  /// Calls visit(output pixel, input pixel, place in the window) for each pixel under each window,
  /// in row order.
  template <class Visit>
  void each(const Visit& visit) const {
    for (std::int64_t b = 0; b < s_.B; ++b)
      for (std::int64_t oh = 0; oh < OH; ++oh)
        for (std::int64_t ow = 0; ow < OW; ++ow) each_under(b, oh, ow, visit);
  }

  template <class Visit>
  void each_under(std::int64_t b, std::int64_t oh, std::int64_t ow, const Visit& visit) const {
    const window down = along(oh, s_.H), across = along(ow, s_.W);
    for (std::int64_t h = down.first; h < down.last; ++h)
      for (std::int64_t w = across.first; w < across.last; ++w)
        visit((b * OH + oh) * OW + ow, (b * s_.H + h) * s_.W + w,
              (h - down.start) * s_.kernel + w - across.start);
  }

  pool_shape s_;
  std::int64_t OH, OW;
};

using place = std::uint16_t;

/// Takes x where it is larger than `best`, or not a number.
PERIGEE_CLONES void take_larger(const float* x, std::int64_t C, place at, float* best,
                                place* where) {
  for (std::int64_t c = 0; c < C; ++c) {
    const bool keep = x[c] <= best[c] || best[c] != best[c];
    best[c] = keep ? best[c] : x[c];
    where[c] = keep ? where[c] : at;
  }
}

PERIGEE_CLONES void add_where(const float* dout, const place* where, std::int64_t C, place at,
                              float* din) {
  for (std::int64_t c = 0; c < C; ++c) din[c] += where[c] == at ? dout[c] : 0.0F;
}

PERIGEE_CLONES void add_scaled(const float* x, float scale, std::int64_t C, float* to) {
  for (std::int64_t c = 0; c < C; ++c) to[c] += x[c] * scale;
}

std::size_t count(std::int64_t n) { return static_cast<std::size_t>(n); }

/// saved: for each output the place in its window that won; of equals the first, as in PyTorch.
class max_pool final : public op {
public:
  explicit max_pool(const pool_shape& s) : s_(s), windows_(s) {
    outputs_ = s.B * windows_.OH * windows_.OW * s.C;
    needs_.out_count = {count(outputs_)};
    needs_.saved_bytes = {count(outputs_) * sizeof(place)};
    needs_.backward_reads_in = {false};
    needs_.forward_work = count(outputs_) * count(s.kernel * s.kernel);
    needs_.backward_work = needs_.forward_work;
  }

  const op_needs& needs() const noexcept override { return needs_; }

  void forward(const op_call& c) override {
    const auto* in = static_cast<const float*>(c.in[0]);
    auto* where = reinterpret_cast<place*>(c.saved[0]);
    std::fill_n(c.out[0], count(outputs_), -std::numeric_limits<float>::infinity());
    std::fill_n(where, count(outputs_), place{0});
    std::int64_t begun = -1;  // the output whose first pixel was seen
    windows_.each([&](std::int64_t o, std::int64_t i, std::int64_t at) {
      if (o != std::exchange(begun, o))  // so that a window of -inf alone has a winner inside
        std::fill_n(where + o * s_.C, count(s_.C), static_cast<place>(at));
      take_larger(in + i * s_.C, s_.C, static_cast<place>(at), c.out[0] + o * s_.C,
                  where + o * s_.C);
    });
  }

  void backward_inputs(const op_call& c) override {
    if (c.din[0] == nullptr) return;
    const auto* where = reinterpret_cast<const place*>(c.saved[0]);
    std::fill_n(c.din[0], count(s_.B * s_.H * s_.W * s_.C), 0.0F);
    windows_.each([&](std::int64_t o, std::int64_t i, std::int64_t at) {
      add_where(c.dout[0] + o * s_.C, where + o * s_.C, s_.C, static_cast<place>(at),
                c.din[0] + i * s_.C);
    });
  }

private:
  pool_shape s_;
  windows windows_;
  std::int64_t outputs_ = 0;
  op_needs needs_;
};

class average_pool final : public op {
public:
  explicit average_pool(const pool_shape& s)
      : s_(s), windows_(s), share_(1.0F / static_cast<float>(s.kernel * s.kernel)) {
    outputs_ = s.B * windows_.OH * windows_.OW * s.C;
    needs_.out_count = {count(outputs_)};
    needs_.backward_reads_in = {false};
    needs_.forward_work = count(outputs_) * count(s.kernel * s.kernel);
    needs_.backward_work = needs_.forward_work;
  }

  const op_needs& needs() const noexcept override { return needs_; }

  void forward(const op_call& c) override {
    const auto* in = static_cast<const float*>(c.in[0]);
    std::fill_n(c.out[0], count(outputs_), 0.0F);
    windows_.each([&](std::int64_t o, std::int64_t i, std::int64_t) {
      add_scaled(in + i * s_.C, share_, s_.C, c.out[0] + o * s_.C);
    });
  }

  void backward_inputs(const op_call& c) override {
    if (c.din[0] == nullptr) return;
    std::fill_n(c.din[0], count(s_.B * s_.H * s_.W * s_.C), 0.0F);
    windows_.each([&](std::int64_t o, std::int64_t i, std::int64_t) {
      add_scaled(c.dout[0] + o * s_.C, share_, s_.C, c.din[0] + i * s_.C);
    });
  }

private:
  pool_shape s_;
  windows windows_;
  float share_;
  std::int64_t outputs_ = 0;
  op_needs needs_;
};

class global_average final : public op {
public:
  explicit global_average(const pool_shape& s) : s_(s), pixels_(s.H * s.W) {
    needs_.out_count = {count(s.B * s.C)};
    needs_.backward_reads_in = {false};
    needs_.forward_work = count(s.B * pixels_ * s.C);
    needs_.backward_work = needs_.forward_work;
  }

  const op_needs& needs() const noexcept override { return needs_; }

  void forward(const op_call& c) override {
    const auto* in = static_cast<const float*>(c.in[0]);
    std::fill_n(c.out[0], count(s_.B * s_.C), 0.0F);
    for (std::int64_t b = 0; b < s_.B; ++b)
      add_column_sums(in + b * pixels_ * s_.C, pixels_, s_.C, c.out[0] + b * s_.C);
    for (std::int64_t i = 0; i < s_.B * s_.C; ++i) c.out[0][i] /= static_cast<float>(pixels_);
  }

  void backward_inputs(const op_call& c) override {
    if (c.din[0] == nullptr) return;
    const auto pixels = static_cast<float>(pixels_);
    for (std::int64_t b = 0; b < s_.B; ++b)
      for (std::int64_t i = 0; i < pixels_; ++i)
        for (std::int64_t ch = 0; ch < s_.C; ++ch)
          c.din[0][(b * pixels_ + i) * s_.C + ch] = c.dout[0][b * s_.C + ch] / pixels;
  }

private:
  pool_shape s_;
  std::int64_t pixels_;
  op_needs needs_;
};

result<void> checked_window(const pool_shape& s) {
  const named_extent K{"kernel", s.kernel}, S{"stride", s.stride};
  if (auto fits = checked_extents("pool", {K, S}); !fits) return fits;
  constexpr std::int64_t kernel_max = 255;
  if (s.kernel > kernel_max)
    return error{errc::unsupported, "pool: a kernel of " + std::to_string(s.kernel) +
                                        " is larger than " + std::to_string(kernel_max)};
  if (s.padding < 0 || s.padding > s.kernel / 2)
    return error{errc::malformed, "pool: padding is " + std::to_string(s.padding) +
                                      ", must be between 0 and half the kernel of " +
                                      std::to_string(s.kernel)};
  const std::int64_t high = s.H + 2 * s.padding, wide = s.W + 2 * s.padding;
  if (s.kernel > high || s.kernel > wide)
    return error{errc::malformed, "pool: a window of " + std::to_string(s.kernel) + " x " +
                                      std::to_string(s.kernel) +
                                      " is larger than the padded input of " +
                                      std::to_string(high) + " x " + std::to_string(wide)};
  return {};
}

}  // namespace

result<op_ptr> make_pool(const pool_shape& s) {
  const named_extent B{"batch", s.B}, C{"channels", s.C}, H{"height", s.H}, W{"width", s.W};
  if (auto fits = checked_extents("pool", {B, C, H, W}); !fits) return fits.why();
  if (auto fits = checked_count("pool", {B, C, H, W}); !fits) return fits.why();
  if (s.kind == pool_kind::global_average) return op_ptr(std::make_unique<global_average>(s));
  if (auto fits = checked_window(s); !fits) return fits.why();
  if (s.kind == pool_kind::max) return op_ptr(std::make_unique<max_pool>(s));
  return op_ptr(std::make_unique<average_pool>(s));
}

}  // namespace perigee::kernels
