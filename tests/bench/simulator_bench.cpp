// How many events the simulator works off in a second of one core, whole peers and values included.
#include "net/sim/speed.hpp"
#include "tests/bench/groups.hpp"
#include "tests/bench/measure.hpp"

#include <vector>

namespace perigee::bench {

namespace {

constexpr std::size_t runs = 3;

struct simulated_swarm {
  std::uint32_t peers = 0;
  std::uint64_t steps = 0;
};

}  // namespace

result<void> simulator_bench(const teller& tell) {
  for (const simulated_swarm& swarm : {simulated_swarm{32, 100}, simulated_swarm{256, 5}}) {
    std::vector<double> rates;
    for (std::size_t i = 0; i < runs; ++i) {
      const double before = cpu_seconds();
      const auto load = net::run_standard_swarm(swarm.peers, swarm.steps);
      rates.push_back(static_cast<double>(load.events) / (cpu_seconds() - before));
    }
    const auto name = "simulator, " + std::to_string(swarm.peers) + " peers, " +
                      std::to_string(swarm.steps) + " steps, a core";
    tell({name, median(rates), "events/s", 0, true});
  }
  return {};
}

}  // namespace perigee::bench
