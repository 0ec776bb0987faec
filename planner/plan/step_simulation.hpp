// One step of a plan, event by event: the planner's arbiter of time and memory.
//
// Each lane does the actions of its schedule in order. A forward pass waits for its boundary and
// for a free slot, a backward pass for its gradient. What leaves takes its turn on the link to the
// peer that needs it (a medium has one queue for all). When a group has done all passes its
// gradients go along the chain and back; when every stage has, all update.
//
//   step = all passes and reductions, then the longest update
//
// Guarantees  whole nanoseconds, ties by the order of requests: the same on every peer. O(n log n)
//             in the passes.
// Requires    a well-formed plan whose peers are all in the fleet.
// Threads     none; pure functions.
#pragma once

#include "planner/plan/fleet.hpp"
#include "proto/plan.hpp"

#include <vector>

namespace perigee::planner {

/// One pass on one lane.
struct pass_span {
  peer_id peer;
  std::uint32_t stage = 0;
  std::uint32_t lane = 0;
  std::uint32_t micro_batch = 0;
  bool backward = false;
  duration start{};
  duration end{};
  friend bool operator==(const pass_span&, const pass_span&) = default;
};

/// What a step asks of one participant.
struct peer_use {
  peer_id peer;
  place where;
  duration busy{};     // of its busiest lane, passes only
  duration sending{};  // its bytes on links
  bytes reserved;      // by the account (proto/stage_memory.hpp)
  bytes touched;       // the most that was in use at once
  friend bool operator==(const peer_use&, const peer_use&) = default;
};

struct step_report {
  duration total{};
  duration passes{};     // until the last pass of any stage
  duration reduction{};  // how much later the last reduction ends
  duration update{};
  std::uint32_t slowest_stage = 0;  // with the busiest lane
  duration slowest_busy{};          // that lane's passes
  duration warm_up{};               // until that lane's first pass
  std::vector<peer_use> uses;       // in stage and group order
  std::vector<pass_span> spans;     // in the order of their starts; only if asked for
  friend bool operator==(const step_report&, const step_report&) = default;
};

enum class record : std::uint8_t { totals, spans };
enum class links : std::uint8_t { real, free };  // free: what a step takes if nothing had to travel

struct simulation_request {
  const model_profile* model = nullptr;
  const fleet* swarm = nullptr;
  record keep = record::totals;
  links over = links::real;
};

[[nodiscard]] step_report simulate_step(const simulation_request& of, const plan& p);

}  // namespace perigee::planner
