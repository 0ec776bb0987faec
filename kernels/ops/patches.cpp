#include "kernels/ops/patches.hpp"

#include "kernels/ops/lanes.hpp"

#include <algorithm>

namespace perigee::kernels {
namespace {

struct position {
  std::int64_t b = 0, oh = 0, ow = 0;
};

position position_of(const patches& p, std::int64_t row) {
  return {row / (p.OH * p.OW), row / p.OW % p.OH, row % p.OW};
}

void advance(const patches& p, position& at) {
  if (++at.ow < p.OW) return;
  at.ow = 0;
  if (++at.oh < p.OH) return;
  at.oh = 0;
  ++at.b;
}

/// The kernel columns [low, high) whose pixel lies inside [0, W), for a window that starts at
/// `start`.
struct inside {
  std::int64_t low = 0, high = 0;
};

inside columns_inside(const patches& p, std::int64_t start) {
  const std::int64_t low = start >= 0 ? 0 : (-start + p.dilation - 1) / p.dilation;
  const std::int64_t high = p.W <= start ? 0 : (p.W - start + p.dilation - 1) / p.dilation;
  return {std::min(low, p.KW), std::clamp(high, std::min(low, p.KW), p.KW)};
}

void clear(float* to, std::int64_t count) {
  std::memset(to, 0, static_cast<std::size_t>(count) * sizeof(float));
}

void copy(float* to, const float* from, std::int64_t count) {
  std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
}

PERIGEE_CLONES void add(float* to, const float* from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
}

/// One kernel row of one window: KW·C values from the image row whose window starts at pixel
/// `start`.
void gather_row(const patches& p, const float* row, std::int64_t start, float* to) {
  const inside in = columns_inside(p, start);
  clear(to, in.low * p.C);
  if (p.dilation == 1 && p.pixel == p.C) {
    copy(to + in.low * p.C, row + (start + in.low) * p.C, (in.high - in.low) * p.C);
  } else {
    for (std::int64_t k = in.low; k < in.high; ++k)
      copy(to + k * p.C, row + (start + k * p.dilation) * p.pixel, p.C);
  }
  clear(to + in.high * p.C, (p.KW - in.high) * p.C);
}

void scatter_row(const patches& p, const float* from, std::int64_t start, float* row) {
  const inside in = columns_inside(p, start);
  if (p.dilation == 1 && p.pixel == p.C) {
    add(row + (start + in.low) * p.C, from + in.low * p.C, (in.high - in.low) * p.C);
    return;
  }
  for (std::int64_t k = in.low; k < in.high; ++k)
    add(row + (start + k * p.dilation) * p.pixel, from + k * p.C, p.C);
}

}  // namespace

void gather(const patches& p, const float* image, std::int64_t first, std::int64_t count,
            float* matrix) {
  position at = position_of(p, first);
  for (std::int64_t r = 0; r < count; ++r, advance(p, at)) {
    for (std::int64_t kh = 0; kh < p.KH; ++kh, matrix += p.KW * p.C) {
      const std::int64_t h = at.oh * p.stride - p.top + kh * p.dilation;
      if (h < 0 || h >= p.H)
        clear(matrix, p.KW * p.C);
      else
        gather_row(p, image + (at.b * p.H + h) * p.W * p.pixel, at.ow * p.stride - p.left, matrix);
    }
  }
}

void scatter(const patches& p, const float* matrix, std::int64_t first, std::int64_t count,
             float* image) {
  position at = position_of(p, first);
  for (std::int64_t r = 0; r < count; ++r, advance(p, at)) {
    for (std::int64_t kh = 0; kh < p.KH; ++kh, matrix += p.KW * p.C) {
      const std::int64_t h = at.oh * p.stride - p.top + kh * p.dilation;
      if (h >= 0 && h < p.H)
        scatter_row(p, matrix, at.ow * p.stride - p.left, image + (at.b * p.H + h) * p.W * p.pixel);
    }
  }
}

}  // namespace perigee::kernels
