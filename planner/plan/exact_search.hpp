// The best plan of a small swarm, proven: branch and bound over every cut, every group and every
// way to share the slices.
//
//   branch    from the front: where the next stage ends, which unused peers it gets, who takes how
//             many slices
//   bound     for each stage so far: what must pass before it and after it, and its busiest lane;
//             for the rest: the work bound over the peers that are left
//   leaf      fitted into memory and simulated
//
// Members stand in id order. Of neighbours in that order that are alike in all (and links all
// alike) the lower id goes first.
//
// Guarantees  the least simulated step over the space, if it says `proven`; at most `nodes_max`
//             branches.
// Threads     none; pure functions.
#pragma once

#include "planner/plan/estimate.hpp"
#include "planner/plan/step_simulation.hpp"

#include <optional>

namespace perigee::planner {

struct exact_result {
  std::optional<plan> best;  // nothing if the start cannot be beaten
  bool proven = false;
  std::uint64_t nodes = 0;
};

struct exact_request {
  estimator with;
  duration beat = duration::max();  // what is already known
  std::uint64_t nodes_max = 0;
};

[[nodiscard]] exact_result search_exactly(const exact_request& request);

}  // namespace perigee::planner
