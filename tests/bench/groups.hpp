// The groups of figures that `perigee_bench` measures, one function each.
//
// Guarantees  every baseline is measured in the same run, by turns with what is held against it.
// Requires    that they are called from the main thread: the peers they start end with it.
// Threads     one.
#pragma once

#include "proto/base/result.hpp"
#include "tests/bench/figure.hpp"

#include <functional>

namespace perigee::bench {

/// Is told each figure as soon as it is known.
using teller = std::function<void(const figure&)>;

/// How long a peer takes to answer, to know its speed, and to build what a job needs.
result<void> startup_bench(const teller& tell);

/// What a step costs on 1 to 4 peers beside the same kernels in one plain loop.
result<void> steps_bench(const teller& tell);

/// Events per second of simulated swarms.
result<void> simulator_bench(const teller& tell);

/// The planner beside other planners, plain enumeration and on large fleets.
result<void> planner_bench(const teller& tell);

/// The validation loss that a transformer reaches. Fails with `unavailable` without its text.
result<void> learning_bench(const teller& tell);

}  // namespace perigee::bench
