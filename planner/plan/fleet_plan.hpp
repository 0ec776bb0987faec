// The best plan for a described fleet, with what it is worth: its simulated step, a bound that no
// plan can beat, and who idles.
//
//   tier       when                                  how
//   as wished  the job fixes the plan's form         `partition`, all links as slow as the worst
//   exact      the branches of a small swarm are few every plan, by branch and bound
//   labels     up to some hundreds of peers          labels over several orders, then moves
//   blocks     thousands                             fewer labels, orders and moves
//
// Every tier starts from the one below it, so the exact one is never worse than labels. The arbiter
// of all is `simulate_step`.
//
// Guarantees  a pure function of its input whatever the order of peers; ties by id. Bounded: at
//             most `fleet_limits` branches and moves. Memory is respected exactly.
// Threads     none; pure functions.
#pragma once

#include "planner/plan/estimate.hpp"
#include "planner/plan/step_simulation.hpp"
#include "proto/base/result.hpp"
#include "proto/job.hpp"

#include <string>
#include <vector>

namespace perigee::planner {

enum class planning_tier : std::uint8_t { as_wished, exact, labels, blocks };
[[nodiscard]] std::string_view name_of(planning_tier tier) noexcept;

struct fleet_limits {
  std::uint32_t exact_peers_max = 6;
  std::uint32_t exact_layers_max = 24;
  std::uint64_t exact_nodes_max = 400'000;
  std::uint32_t permuted_peers_max = 4;  // so many in every order
  std::uint32_t kicked_peers_max = 16;   // so many are searched from beside the best, too
  std::uint32_t kick_rounds_max = 3;
  std::uint32_t label_peers_max = 300;   // beyond: blocks
  std::uint64_t moves_max = 3'000;       // judged by the estimate
  std::uint64_t passes_max = 2'000'000;  // simulated while moves are judged
  std::size_t finalists = 8;             // outlines that moves start from
};

struct fleet_request {
  const model_profile* model = nullptr;
  const fleet* swarm = nullptr;
  const wishes* wanted = nullptr;
  job_id job;
  fleet_limits limits;
};

struct fleet_plan {
  plan chosen;       // with the simulated step as its prediction
  step_report step;  // without spans
  duration bound{};  // no plan is faster
  planning_tier tier = planning_tier::labels;
  std::uint64_t looked_at = 0;  // branches and moves
  friend bool operator==(const fleet_plan&, const fleet_plan&) = default;
};

/// Returns how far a plan may be from the best one, in thousandths of the bound.
[[nodiscard]] std::uint64_t gap_permille(const fleet_plan& made) noexcept;

/// Fails with `infeasible`, naming the wish or the peer that is short and by how many bytes, or
/// with `unavailable` if no peer has a speed.
[[nodiscard]] result<fleet_plan> plan_fleet(const fleet_request& request);

}  // namespace perigee::planner
