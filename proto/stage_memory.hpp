// How many bytes of tensors one peer reserves for its part of a plan: the one formula that the
// planner refuses by and that kernels/stage.hpp reserves by.
//
// Everything is reserved when the executor is built, so the account is exact but for rounding. With
// L the layers of the stage, all sizes rounded to 64 bytes:
//
//   states     Σ L (state + packed)
//   totals     Σ L gradient                          one alone; two for the first and the last of a
//                                                    group; three between (a total on its way back
//                                                    while the next step's comes)
//   slices     Σ L (gradient + statistics · slice size)             for each slice of the member
//   lane       greatest transient of L                              for each lane
//              + up to two gradients of the greatest boundary inside the stage
//   slot       Σ L kept + boundaries inside                         for each lane, in_flight_max +
//   1
//              + first stage: samples; others: the gradient that leaves
//              + not the last stage: the boundary that leaves and the gradient that comes
//   inputs     the boundary that comes               for each micro-batch that may be here at once:
//                                                    own ones, or all that upstream lanes can have
//
// Guarantees  what the real executor reserves is no more than this and at least 97 % of it
//             (tests/kernels/stage_test.cpp). Outside the account: the data set, code and
//             bookkeeping, which do not grow with the batch.
#pragma once

#include "proto/model_profile.hpp"
#include "proto/plan.hpp"

namespace perigee {

/// The parts of the account; `total` is their sum.
struct memory_account {
  bytes states;
  bytes totals;
  bytes slices;
  bytes lanes;
  bytes slots;
  bytes inputs;
  friend bool operator==(const memory_account&, const memory_account&) = default;
};

[[nodiscard]] constexpr bytes total(const memory_account& a) noexcept {
  return a.states + a.totals + a.slices + a.lanes + a.slots + a.inputs;
}

/// Requires `where` to be a place of `p` and the stages of `p` to lie within the model.
[[nodiscard]] memory_account account_of(const model_profile& m, const plan& p, const place& where);

/// Returns the bytes that the peer at `where` reserves.
[[nodiscard]] bytes stage_memory(const model_profile& m, const plan& p, const place& where);

/// Returns how many micro-batches the slices [first, first + count) have; the last slice of a
/// mini-batch may be short.
[[nodiscard]] std::uint32_t micro_batches_of(const model_profile& m, slice_range slices) noexcept;

/// Returns the reduction buffers that a member of a group of `size` keeps for each layer, beside
/// those of its slices.
[[nodiscard]] constexpr std::uint32_t totals_of(std::uint32_t index, std::uint32_t size) noexcept {
  if (size <= 1) return 1;
  return index == 0 || index + 1 == size ? 2 : 3;
}

/// Returns how many micro-batches a lane has room for: what may be between forward and backward,
/// and one whose gradient has not left yet.
[[nodiscard]] std::uint32_t slots_of_lane(const model_profile& m, const stage& s, const member& who,
                                          std::uint32_t lane) noexcept;

/// Returns how many incoming boundaries a member has room for; 0 in the first stage.
[[nodiscard]] std::uint32_t input_slots_of(const model_profile& m, const plan& p,
                                           const place& where) noexcept;

}  // namespace perigee
