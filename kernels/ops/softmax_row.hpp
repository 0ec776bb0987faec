// The row of exponentials that softmax, attention and cross entropy share.
#pragma once

#include "kernels/ops/vector_math.hpp"

namespace perigee::kernels {

/// The softmax of x is e^(x - largest) * inverse_sum.
struct row_scale {
  float largest = 0, inverse_sum = 0;
};

/// y = e^(x - largest) over n values, not yet multiplied by `inverse_sum`; y may be x. A NaN or an
/// infinity in x makes `inverse_sum` a NaN.
PERIGEE_INLINE row_scale exponentials(const float* x, float* y, std::size_t n) {
  const float largest = lane_max(n, x);
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) y[i] = vector_exp(x[i] - largest);
  const float sum = lane_sum(n, [&](const auto& at) PERIGEE_INLINE_LAMBDA { return at(y); });
  return {largest, 1.0F / sum};
}

}  // namespace perigee::kernels
