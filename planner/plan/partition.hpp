// Who should compute which layers and slices: the first partitioner.
//
// The exact optimum for a chain of layers on peers in a given order: among all plans that cut the
// chain into stages, give each stage a group of peers in that order (leaving any peer idle) and
// each member a run of whole slices, the least bottleneck for each number of stages; among those
// of one bottleneck the least fill and drain; among the numbers of stages the least predicted step
// (fewer stages on a tie).
//
//   best(i, a, q) = least over (i < j, a < b) of  stage(layers i..j, peers a..b) then best(j, b,
//   q-1)
//
// Memory is respected exactly (proto/stage_memory.hpp); how much a stage keeps depends on the
// stages behind it, which is why q is part of the state.
//
// Guarantees  a pure function of its input whatever the order of `peers`; ties by id.
// Requires    nothing: what cannot be met is an `infeasible` that says what is short.
// Threads     none; a pure function.
#pragma once

#include "planner/plan/cost_model.hpp"
#include "proto/base/result.hpp"
#include "proto/job.hpp"
#include "proto/message.hpp"
#include "proto/plan.hpp"

#include <vector>

namespace perigee::planner {

namespace limits {
/// Peers that one plan is searched over; of more only the fastest are looked at.
inline constexpr std::size_t planned_peers_max = 16;
/// Bounds the search: layers squared times peers cubed is no more, else fewer peers are looked at.
inline constexpr std::uint64_t planned_work_max = 1'000'000;
}  // namespace limits

/// What a peer really offers, e.g. from its refusal: replaces the offer in its record.
struct memory_limit {
  peer_id peer;
  bytes offer;
  friend bool operator==(const memory_limit&, const memory_limit&) = default;
};

struct planning_input {
  const model_profile* model = nullptr;
  job_id job;
  std::uint64_t epoch = 0;
  const wishes* wanted = nullptr;
  std::vector<peer_record> peers;  // those that may take part; uncalibrated ones are left idle
  std::vector<memory_limit> memory;
  link_estimate link;  // between any two peers
};

/// Fails with `infeasible`: the wish that cannot be met, or the peer that is short and by how many
/// bytes.
[[nodiscard]] result<plan> partition(const planning_input& input);

}  // namespace perigee::planner
