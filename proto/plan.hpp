// A plan: who computes which layers of a job and which slices, and how deep each pipeline lane
// runs.
#pragma once

#include "proto/base/id.hpp"
#include "proto/base/units.hpp"
#include "proto/job.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace perigee {

/// One peer of a group: it computes slices [slice_first, slice_first + slice_count) on `workers`
/// lanes.
struct member {
  peer_id peer;
  std::uint32_t slice_first = 0;
  std::uint32_t slice_count = 0;
  std::uint32_t workers = 1;
  friend bool operator==(const member&, const member&) = default;
};

/// Layers [layer_first, layer_first + layer_count), replicated over a group in slice order.
struct stage {
  std::uint32_t layer_first = 0;
  std::uint32_t layer_count = 0;
  std::uint32_t in_flight_max = 1;  // micro-batches a lane may hold between forward and backward
  std::vector<member> group;
  friend bool operator==(const stage&, const stage&) = default;
};

struct plan {
  job_id job;
  std::uint64_t epoch = 0;
  schedule_kind schedule = schedule_kind::one_f_one_b;
  std::vector<stage> stages;  // in layer order; together they cover the model once
  duration predicted_step{};  // what the cost model expects of a step
  friend bool operator==(const plan&, const plan&) = default;
};

/// Which stage and which place in its group a peer has.
struct place {
  std::uint32_t stage = 0;
  std::uint32_t index = 0;
  friend bool operator==(const place&, const place&) = default;
};

/// Returns where `peer` stands in `p`, or {stages.size(), 0} if it has no part. A peer has one
/// place at most.
[[nodiscard]] place place_of(const plan& p, peer_id peer) noexcept;

/// Returns the peers of a plan in stage and group order.
[[nodiscard]] std::vector<peer_id> participants(const plan& p);

/// Returns the slices of lane `lane` of a member: contiguous runs, sizes differing by one at most,
/// larger ones first.
struct slice_range {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  friend bool operator==(const slice_range&, const slice_range&) = default;
};
[[nodiscard]] slice_range slices_of_lane(const member& m, std::uint32_t lane) noexcept;

/// Returns how many lanes of a member have at least one slice: the lesser of workers and slices.
[[nodiscard]] std::uint32_t lane_count(const member& m) noexcept;

/// Returns a hash of the plan without its prediction: ties between plans of one epoch are broken by
/// it.
[[nodiscard]] std::uint64_t digest_of(const plan& p) noexcept;

/// One line: `epoch 1, 1f1b: layers 0-1 on p1 (slices 0-3) | layers 2-3 on p2 …`.
[[nodiscard]] std::string text(const plan& p);

}  // namespace perigee
