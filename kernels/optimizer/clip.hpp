// Clipping by the norm of the whole gradient, as torch.nn.utils.clip_grad_norm_ does it.
//
// Guarantees  the sum of squares of one parameter has one order of addition, in f64: eight lanes,
//             element i in lane i mod 8. The sums of the parameters are added in the order given.
#pragma once

#include <span>

namespace perigee::kernels {

[[nodiscard]] double sum_of_squares(std::span<const float> values) noexcept;

/// Returns the norm of a gradient whose parameters have these sums of squares.
[[nodiscard]] double gradient_norm(std::span<const double> sums) noexcept;

/// Returns what the gradient is to be multiplied by: limit / (norm + 1e-6), at most 1; 1 if
/// `limit` is 0 (no clipping). A NaN norm gives NaN.
[[nodiscard]] double clip_scale(double norm, double limit) noexcept;

}  // namespace perigee::kernels
