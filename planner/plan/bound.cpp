#include "planner/plan/bound.hpp"

#include "proto/stage_memory.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace perigee::planner {

namespace {

using rep = duration::rep;
__extension__ using wide = unsigned __int128;

/// Prices are fixed-point with this one.
constexpr rep one = rep{1} << 30;

struct best_links {
  rep latency = std::numeric_limits<rep>::max();
  std::uint64_t bytes_per_second = 1;
};

best_links best_of(const fleet& swarm) {
  best_links best;
  const auto look = [&](const link_kind& kind) {
    best.latency = std::min(best.latency, kind.link.latency.count());
    best.bytes_per_second = std::max(best.bytes_per_second, kind.link.bytes_per_second);
  };
  if (swarm.uniform() && swarm.size() > 1) look(swarm.between(0, 1));
  for (std::uint32_t a = 0; a < swarm.size() && !swarm.uniform(); ++a)
    for (std::uint32_t b = a + 1; b < swarm.size(); ++b) look(swarm.between(a, b));
  return best;
}

/// Returns the lanes a plan may use, the fastest peers first.
std::vector<std::uint32_t> by_speed(const planning_space& space, const layer_sums& sums) {
  std::vector<std::uint32_t> peers(space.swarm->size());
  for (std::uint32_t p = 0; p < peers.size(); ++p) peers[p] = p;
  std::stable_sort(peers.begin(), peers.end(), [&](std::uint32_t a, std::uint32_t b) {
    return sums.pass(a, {0, sums.layers()}) < sums.pass(b, {0, sums.layers()});
  });
  return peers;
}

/// Returns one of each speed among `peers`.
std::vector<std::uint32_t> of_each_speed(const layer_sums& sums,
                                         const std::vector<std::uint32_t>& peers) {
  std::vector<char> seen(sums.speed_classes());
  std::vector<std::uint32_t> some;
  for (const std::uint32_t p : peers)
    if (std::exchange(seen[sums.class_of(p)], 1) == 0) some.push_back(p);
  return some;
}

std::vector<rep> fastest_layers(const layer_sums& sums, const std::vector<std::uint32_t>& peers) {
  std::vector<rep> least(sums.layers(), std::numeric_limits<rep>::max());
  for (const std::uint32_t p : of_each_speed(sums, peers))
    for (std::uint32_t l = 0; l < sums.layers(); ++l)
      least[l] = std::min(least[l], sums.pass(p, {l, l + 1}));
  return least;
}

/// Returns, of the layer for which it is longest, one pass in one direction at its fastest peer.
rep longest_pass(const planning_space& space, const layer_sums& sums,
                 const std::vector<std::uint32_t>& peers) {
  rep longest = 0;
  const auto some = of_each_speed(sums, peers);
  for (const layer_profile& layer : space.model->layers) {
    rep fastest = std::numeric_limits<rep>::max();
    for (const std::uint32_t p : some) {
      const lane_time t = layer_time(layer, space.swarm->peers()[p].rate);
      fastest = std::min(fastest, std::max(t.forward, t.backward).count());
    }
    longest = std::max(longest, fastest);
  }
  return longest;
}

/// Returns the work bound of plans whose lanes number `lanes` at the most.
rep of_fastest_lanes(const planning_space& space, const layer_sums& sums,
                     const std::vector<std::uint32_t>& sorted, std::uint64_t lanes) {
  // Lanes that are faster in one class only are still counted by their whole-model speed: so that
  // the bound holds, the fastest layer times are spread over so many lanes of that speed.
  const auto r = layer_range{0, sums.layers()};
  const std::vector<rep> least = fastest_layers(sums, sorted);
  wide work = 0;
  for (const rep each : least) work += static_cast<wide>(each);
  work *= space.model->micro_batch_count;
  std::uint64_t all = 0;
  for (const std::uint32_t p : sorted) all += space.swarm->peers()[p].workers;
  if (lanes >= all) return work_bound(space, sums, r, sorted);
  return std::max(static_cast<rep>(work / std::max<std::uint64_t>(lanes, 1)),
                  work_bound(space, sums, r, sorted));
}

}  // namespace

duration::rep work_bound(const planning_space& space, const layer_sums& sums, layer_range r,
                         const std::vector<std::uint32_t>& peers) {
  if (peers.empty()) return std::numeric_limits<rep>::max() / 4;
  // A peer's price is its share of all speed; of one speed, all have the price of the sum.
  std::vector<std::uint64_t> workers(sums.speed_classes());
  const auto some = of_each_speed(sums, peers);
  for (const std::uint32_t p : peers) workers[sums.class_of(p)] += space.swarm->peers()[p].workers;
  const rep reference = std::max<rep>(sums.pass(some[0], r), 1);
  wide all = 0;
  std::vector<wide> price;  // of a lane
  for (const std::uint32_t p : some) {
    price.push_back(static_cast<wide>(reference) * one / std::max<rep>(sums.pass(p, r), 1));
    all += price.back() * workers[sums.class_of(p)];
  }
  wide value = 0;
  for (std::uint32_t l = r.first; l < r.end; ++l) {
    wide least = ~wide{0};
    for (std::size_t i = 0; i < some.size(); ++i)
      least = std::min(least, price[i] * static_cast<wide>(sums.pass(some[i], {l, l + 1})));
    value += least;
  }
  return static_cast<rep>(value * space.model->micro_batch_count / std::max<wide>(all, 1));
}

duration step_bound(const planning_space& space, const layer_sums& sums) {
  const auto sorted = by_speed(space, sums);
  if (sorted.empty()) return duration{};
  const model_profile& model = *space.model;
  const std::vector<rep> least = fastest_layers(sums, sorted);
  const rep in_slice = micro_batches_of(model, {0, 1});
  rep path = 0;
  for (const rep each : least) path += each;
  const rep longest = longest_pass(space, sums, sorted);
  std::uint64_t lanes = 0;
  for (const std::uint32_t p : sorted) lanes += space.swarm->peers()[p].workers;
  std::uint64_t thinnest = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t l = 1; l < model.layers.size(); ++l)
    thinnest = std::min(thinnest, model.layers[l].input.count);
  const best_links best = best_of(*space.swarm);
  const auto stages_max = std::min<std::size_t>(least.size(), sorted.size());
  rep bound = std::numeric_limits<rep>::max();
  for (std::size_t stages = 1; stages <= stages_max; ++stages) {
    rep here = path + (in_slice - 1) * longest;
    if (stages > 1) {
      const link_estimate link{duration{best.latency}, best.bytes_per_second};
      here += 2 * static_cast<rep>(stages - 1) * link_time({thinnest}, link).count();
    }
    here = std::max(here, of_fastest_lanes(space, sums, sorted, stages * model.slice_count));
    bound = std::min(bound, here);
    // More stages only raise the path, and the work bound has come to its end.
    if (stages * model.slice_count >= lanes) break;
  }
  return duration{bound};
}

}  // namespace perigee::planner
