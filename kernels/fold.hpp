// The one order of addition: a layer's total is the left fold of its slices, in slice order.
//
// Guarantees  the total is the same whoever holds which slices: each member adds its own, in order,
//             to what came from the left. Running statistics take each micro-batch's batch
//             statistics in micro-batch order.
// Threads     any; works on what it is given.
#pragma once

#include "kernels/model/layout.hpp"

#include <cstdint>
#include <span>

namespace perigee::kernels {

/// Test-only faults, to show that the digests of a job have teeth.
enum class sabotage : std::uint8_t {
  none,
  reversed_fold,     // own slices are added from last to first
  statistics_twice,  // the first micro-batch of each slice is counted twice
  dropped_slice,     // the last own slice is not added
};

/// Makes `total` the fold of no slices: zeros, and the running statistics of the layer's state.
void begin_total(const layer_layout& layout, std::span<float> total, const float* running) noexcept;

/// Adds the next slices to `total`, which is the fold of all before them; `micro_batches` says how
/// many each slice has.
void fold_slices(const layer_layout& layout, std::span<float> total, std::span<float* const> slices,
                 std::span<const std::uint32_t> micro_batches,
                 sabotage wrong = sabotage::none) noexcept;

/// Returns the loss and the targets counted at the end of a gradient buffer.
[[nodiscard]] loss_tail loss_of(const layer_layout& layout, const float* buffer) noexcept;
void add_loss(const layer_layout& layout, float* buffer, const loss_tail& more) noexcept;

}  // namespace perigee::kernels
