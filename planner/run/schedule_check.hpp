// Whether the schedules of all lanes of a plan can be run together: asked before one is used.
//
// Three rules: each micro-batch of a lane goes forward once and then backward once; no lane holds
// more micro-batches than the plan allows its stage; and the lanes, run together, come to an end.
//
// Guarantees  O(actions): each lane is looked at again only when something it may wait for is done.
// Requires    a well-formed plan (planner/run/plan_check.hpp); the schedules may be anything.
// Threads     none; pure functions.
#pragma once

#include "planner/run/schedule.hpp"
#include "proto/base/result.hpp"

#include <vector>

namespace perigee::planner {

/// One lane of one peer and what it will do.
struct lane_program {
  place where;
  std::uint32_t lane = 0;
  lane_schedule actions;
};

/// Returns the programs of all lanes of a plan, in stage, group and lane order.
[[nodiscard]] std::vector<lane_program> programs_of(const plan& p, const model_profile& model);

/// Fails with `malformed` (a micro-batch too often, never, or backward first), `exhausted` (too
/// many in flight) or `infeasible` (a deadlock), naming peer, lane and micro-batch.
[[nodiscard]] result<void> check_schedules(const plan& p, const model_profile& model,
                                           const std::vector<lane_program>& programs);

}  // namespace perigee::planner
