// Random small fleets and plans by plain enumeration, for tests and benchmarks of the planner.
#pragma once

#include "planner/plan/fleet_plan.hpp"
#include "tests/planner/instances.hpp"

#include <utility>

namespace perigee::planner::fleets {

/// What a planning problem is short of.
enum class family : std::uint8_t { compute, links, memory };

struct instance {
  model_profile model;
  fleet_description described;
  wishes wanted;
};

inline link_estimate link_of(random& r, family kind) {
  const std::uint64_t slow = kind == family::links ? 1 : 20;
  return {duration{instances::between(r, 20, 2000) * 1000},
          instances::between(r, slow, slow * 40) * 1'000'000};
}

/// Two to four peers, two to seven layers, links of up to three kinds.
inline instance make(std::uint64_t seed, family kind) {
  random r(seed, purpose::simulation, 77);
  instance made;
  made.model = instances::model_of(r, static_cast<std::uint32_t>(instances::between(r, 2, 7)));
  const auto count = static_cast<std::uint32_t>(instances::between(r, 2, 4));
  const bytes offer{kind == family::memory ? instances::between(r, 600, 4000) * 1024 : 1ULL << 40U};
  made.described.peers = instances::peers_of(r, count, offer);
  if (kind != family::memory)
    for (peer_record& p : made.described.peers) p.memory_offer = offer;
  made.described.usual = link_of(r, kind);
  if (count > 2 && r.below(2) == 0)
    made.described.shared.push_back({{{1}, {2}, {3}}, link_of(r, kind)});
  if (r.below(2) == 0) made.described.pairs.push_back({{1}, {2}, link_of(r, kind)});
  made.wanted.schedule = r.below(4) == 0 ? schedule_kind::gpipe : schedule_kind::one_f_one_b;
  return made;
}

/// The least simulated step over all cuts, ordered groups of any unused peers and shares.
class enumeration {
public:
  enumeration(const planning_space& space) : space_(space), taken_(space.swarm->size()) { next(0); }
  /// Returns duration::max() if nothing fits.
  [[nodiscard]] duration least() const { return least_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }

private:
  void next(std::uint32_t layer) {
    const auto layers = static_cast<std::uint32_t>(space_.model->layers.size());
    if (layer == layers) return judge();
    for (std::uint32_t end = layer + 1; end <= layers; ++end) {
      cut_.push_back({layer, end - layer, {}});
      group(end, 0, space_.model->slice_count);
      cut_.pop_back();
    }
  }

  void group(std::uint32_t end, std::uint32_t from, std::uint32_t slices) {
    if (slices == 0) return next(end);
    for (std::uint32_t p = from; p < taken_.size(); ++p) {
      if (taken_[p] != 0) continue;
      taken_[p] = 1;
      for (std::uint32_t k = 1; k <= slices; ++k) {
        cut_.back().group.push_back({p, k});
        group(end, p + 1, slices - k);
        cut_.back().group.pop_back();
      }
      taken_[p] = 0;
    }
  }

  void judge() {
    ++count_;
    const auto p = fitted(space_, cut_);
    if (p) least_ = std::min(least_, simulate_step({space_.model, space_.swarm}, *p).total);
  }

  const planning_space& space_;
  std::vector<char> taken_;
  outline cut_;
  std::uint64_t count_ = 0;
  duration least_ = duration::max();
};

}  // namespace perigee::planner::fleets
