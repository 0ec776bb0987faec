// The learning rate of a step: linear warm-up, then constant or a half cosine.
//
// Guarantees  the same bits on every machine: f64, no function of the C library.
#pragma once

#include "proto/job.hpp"

#include <cstdint>

namespace perigee::kernels {

/// Returns the rate of `step` (from 0) of `steps`. Warm-up step w of W has (w + 1) / W of the
/// learning rate; the cosine runs from the first step after it to the last step, which has `floor`
/// of it. Steps beyond `steps` keep the last rate.
[[nodiscard]] double rate_at(const optimizer_spec& optimizer, const rate_spec& rate,
                             std::uint64_t step, std::uint64_t steps) noexcept;

/// Returns cos(pi x) for x in [0, 1], within 2e-16.
[[nodiscard]] double cosine_of_half_turn(double x) noexcept;

}  // namespace perigee::kernels
