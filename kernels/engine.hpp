// A lane: one thread that computes. What every such thread must do before its first kernel, and the
// one way to oneDNN's matrix product.
//
// Guarantees  a kernel runs on the calling thread alone: oneDNN's sums depend on its thread count.
// Requires    each thread that runs kernels calls `enter_lane` first.
// Threads     any; nothing is shared.
#pragma once

#include <cstdint>

namespace perigee::kernels {

/// Fixes what the bits of the calling thread depend on: one OpenMP thread, rounding to nearest,
/// floating-point exceptions masked, and results and operands below the normal range taken as zero
/// (gradual underflow costs up to a hundredfold where gradients die out, and gains nothing).
void enter_lane() noexcept;

enum class order : std::uint8_t { plain, transposed };

/// One factor of a product: `plain` = as it lies in memory, rows `stride` values apart.
struct factor {
  const float* data = nullptr;
  std::int64_t stride = 0;
  order as = order::plain;
};

enum class into : std::uint8_t { overwrite, accumulate };

/// out[M,N] = a[M,K] · b[K,N], or out + that.
struct product {
  std::int64_t M = 0, N = 0, K = 0;
  factor a{}, b{};
  into how = into::overwrite;
  float* out = nullptr;
  std::int64_t out_stride = 0;
};

/// Row-major f32 on one thread. The bits are a function of the extents, strides and values.
void multiply(const product& p) noexcept;

}  // namespace perigee::kernels
