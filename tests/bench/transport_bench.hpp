// How the TCP transport compares with a plain blocking socket, both over loopback in the same run.
#pragma once

#include "tests/bench/figure.hpp"

#include <vector>

namespace perigee::bench {

/// Appends the figures. Some ten seconds on a quiet machine. Must be called while the process has
/// no other thread: it forks.
void transport_bench(std::vector<figure>& into);

}  // namespace perigee::bench
