// What no plan can beat: the lower bound that every plan is printed with.
//
//   work     all micro-batches of all layers over the lanes that plans of so many stages can use,
//            each layer priced by who does it cheapest (a Lagrangian bound: valid for any prices)
//   path     one micro-batch through all layers, each on its fastest peer, and the hops between the
//            stages
//   slice    a lane takes whole slices, and no backward pass of a slice comes before its first
//            micro-batch is back: of the longest pass, one slice beyond that micro-batch
//
// The bound is the least, over the number of stages, of the greatest of the three. Memory and
// reductions are not in it.
//
// Guarantees  no plan of the space is simulated faster.
// Threads     none; pure functions.
#pragma once

#include "planner/plan/layer_sums.hpp"

namespace perigee::planner {

[[nodiscard]] duration step_bound(const planning_space& space, const layer_sums& sums);

/// Returns what layers `r` take at the least when only `peers` do them: the work bound alone.
[[nodiscard]] duration::rep work_bound(const planning_space& space, const layer_sums& sums,
                                       layer_range r, const std::vector<std::uint32_t>& peers);

}  // namespace perigee::planner
