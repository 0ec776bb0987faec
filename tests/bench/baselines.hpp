// Other planners, for comparison only: each as published, in a cost model of samples shared within
// every micro-batch.
//
//   exact HPP   Asteroid (Ye et al., 2024), algorithms 1 and 2: Q(l, n, p) over the last l layers
//               on the last n devices in p stages; all devices are used, groups are contiguous in
//               the order of descending memory
//   pipedream   PipeDream (Narayanan et al., 2019), section 3.1: least maximum over devices
//   dapple      the exact DP's form with every group of one size and shares all equal
//   gpipe       one device a stage, as many layers each
//   data        one stage, all devices
//
// Written from descriptions of the papers, not from their code.
#pragma once

#include "proto/base/units.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace perigee::bench {

/// A chain on devices that differ by one speed, links all alike. Times are of one sample at speed
/// 1.
struct chain_setting {
  std::vector<double> forward;
  std::vector<double> backward;
  std::vector<double> boundary;  // seconds on a link for one sample, behind each layer
  std::vector<double> gradient;  // seconds on a link for a layer's gradients
  std::vector<double> speed;     // of each device
  std::uint32_t samples = 0;     // of a micro-batch
  std::uint32_t rounds = 0;      // micro-batches
};

struct chain_stage {
  std::uint32_t layer_first = 0;
  std::uint32_t layer_count = 0;
  std::vector<std::uint32_t> devices;
  std::vector<std::uint32_t> shares;  // samples of each
};
using chain_plan = std::vector<chain_stage>;

/// How much care the programmer took.
enum class diligence : std::uint8_t { as_published, tables };

[[nodiscard]] chain_plan exact_hpp(const chain_setting& s, diligence how);
[[nodiscard]] chain_plan equal_groups(const chain_setting& s);
[[nodiscard]] chain_plan pipedream(const chain_setting& s);
[[nodiscard]] chain_plan equal_layers(const chain_setting& s);
[[nodiscard]] chain_plan data_parallel(const chain_setting& s);

/// Returns the seconds of one round trip of all micro-batches, event by event: 1F1B, links full
/// duplex, groups move their samples side by side, reductions along a ring.
[[nodiscard]] double round_time(const chain_setting& s, const chain_plan& p);

/// Returns the shares that make the slowest device of a group soonest done.
[[nodiscard]] std::vector<std::uint32_t> shares_for(const chain_setting& s,
                                                    const std::vector<std::uint32_t>& devices);

}  // namespace perigee::bench
