// What a plan becomes when a peer is gone: the quickest change that keeps the others in place.
//
//   its group goes on     the slices are poured among those that are left
//   it was alone          an idle peer takes its place, or a neighbour stage takes its layers, or
//                         both neighbours do, each its half
//   then                  boundaries and slices near the gap move while that helps
//
// Of these the one with the least estimated step; `replanned` holds it against the full plan.
//
// Guarantees  pure functions; only stages next to the gap change, so that little state moves.
//             `repaired` looks at no more than some dozens of outlines.
// Threads     none.
#pragma once

#include "planner/plan/fleet_plan.hpp"

#include <optional>

namespace perigee::planner {

/// Returns the repaired outline, or nothing if none of the changes fits into memory. `with` speaks
/// of the fleet with the gone peer still in it.
[[nodiscard]] std::optional<outline> repaired(const estimator& with, const outline& before,
                                              std::uint32_t gone);

struct replanned {
  plan chosen;
  duration step{};      // simulated
  bool repair = false;  // false: the full plan is more than a tenth better, or nothing else fits
};

/// Returns the repaired plan if its step is within 1.1 times the full plan's, else the full plan.
/// `request` speaks of the fleet with `gone` still in it.
[[nodiscard]] result<replanned> replan_without(const fleet_request& request, const plan& before,
                                               peer_id gone);

}  // namespace perigee::planner
