// The optimizers: how a parameter moves, given the total gradient of a mini-batch.
//
//   sgd    d = g + decay p;  m <- momentum m + d;  d = m, or d + momentum m (Nesterov)
//          p <- p - rate d
//   adam   d = g + decay p;  m1 <- beta1 m1 + (1 - beta1) d;  m2 <- beta2 m2 + (1 - beta2) d²
//          p <- p - rate / (1 - beta1^t) · m1 / (sqrt(m2) / sqrt(1 - beta2^t) + epsilon)
//   adamw  the same with d = g, after p <- p - rate decay p
//
// Guarantees  the bits of an element depend on that element and the numbers of the step alone:
//             where a tensor is split does not matter. What depends on the step only is computed
//             once, in f64, and rounded to f32.
// Source      torch.optim of PyTorch 1.13 (SGD, Adam, AdamW), whose moments also start at zero.
#pragma once

#include "proto/job.hpp"

#include <cstdint>
#include <span>

namespace perigee::kernels {

/// One update of one parameter, or of a part of it. All spans are of one length; a moment that the
/// optimizer does not have is empty. Moments are zero before the first step.
struct update_call {
  std::uint64_t step = 0;  // counts from 0
  double rate = 0;         // of this step, see rate.hpp
  double scale = 1;        // the gradient is multiplied by it, see clip.hpp
  std::span<float> param;
  std::span<const float> grad;
  std::span<float> moment1;  // momentum; first moment
  std::span<float> moment2;  // second moment
};

class optimizer {
public:
  explicit optimizer(const optimizer_spec& spec) : spec_(spec) {}

  /// Returns how many moments each parameter has: 0, 1 or 2.
  [[nodiscard]] std::uint32_t moment_count() const noexcept;

  /// Moves the parameter and its moments in place.
  void update(const update_call& call) const;

private:
  optimizer_spec spec_;
};

/// Returns base^exponent for 0 <= base by squaring, always in the same order.
[[nodiscard]] double whole_power(double base, std::uint64_t exponent) noexcept;

}  // namespace perigee::kernels
