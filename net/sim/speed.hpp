// How fast the simulator itself is: events a second of a standard swarm.
//
// Threads  none.
#pragma once

#include <cstdint>

namespace perigee::net {

struct simulator_load {
  std::uint64_t events = 0;
  std::uint64_t trace_hash = 0;
};

/// Runs one job of `steps` steps on `peers` peers in three stages of replicas; the caller holds the
/// watch. The same arguments give the same load.
[[nodiscard]] simulator_load run_standard_swarm(std::uint32_t peers, std::uint64_t steps);

}  // namespace perigee::net
