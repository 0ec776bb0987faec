// Whether a plan is one that can be run, and whether one peer can do its part of it: the same
// questions for a plan of our own and for one from anybody else.
//
// Threads  none; pure functions.
#pragma once

#include "proto/base/result.hpp"
#include "proto/message.hpp"
#include "proto/model_profile.hpp"
#include "proto/plan.hpp"

#include <optional>

namespace perigee::planner {

/// Fails with `malformed`, or with what planner/run/schedule_check.hpp finds: layers not covered
/// once and in order, slices not shared out once and in order, a peer with two places, no worker.
[[nodiscard]] result<void> check_plan(const plan& p, const model_profile& model);

/// Why a peer cannot do its part, in the terms of a refusal.
struct objection {
  error why;
  bytes needed;  // if memory is short
  bytes offered;
  friend bool operator==(const objection&, const objection&) = default;
};

/// What a peer can give to a plan.
struct capacity {
  peer_id peer;
  std::uint32_t workers = 0;
  bytes memory;  // what its other jobs leave of its offer
};

/// Returns what stands against `p` at a peer that has a place in it; nothing if all is well.
[[nodiscard]] std::optional<objection> objection_to(const plan& p, const model_profile& model,
                                                    const capacity& own);

}  // namespace perigee::planner
