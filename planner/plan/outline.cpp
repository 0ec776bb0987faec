#include "planner/plan/outline.hpp"

#include "proto/base/check.hpp"
#include "proto/stage_memory.hpp"

#include <algorithm>

namespace perigee::planner {

namespace {

using rep = duration::rep;

/// Returns the plan with every worker and the depths that schedules ask for.
plan at_full_width(const planning_space& space, const outline& cut) {
  plan p;
  p.schedule = space.schedule;
  for (const outline_stage& s : cut) {
    stage made{.layer_first = s.layer_first, .layer_count = s.layer_count, .group = {}};
    std::uint32_t slice = 0;
    for (const part& who : s.group) {
      const peer_record& record = space.swarm->peers()[who.peer];
      made.group.push_back({record.peer, slice, who.slices, record.workers});
      slice += who.slices;
    }
    p.stages.push_back(std::move(made));
  }
  return p;
}

std::uint32_t longest_lane(const model_profile& model, const stage& s) {
  std::uint32_t longest = 1;
  for (const member& who : s.group) longest = std::max(longest, busiest_lane(model, who));
  return longest;
}

/// Returns the slowest member's micro-batch.
rep once_of(const planning_space& space, const outline_stage& s) {
  rep once = 0;
  for (const part& who : s.group)
    once = std::max(once, layers_time(*space.model, s.layer_first, s.layer_count,
                                      space.swarm->peers()[who.peer].rate)
                              .both()
                              .count());
  return once;
}

rep hop_of(const planning_space& space, const outline& cut, std::size_t s) {
  const bytes size = space.model->layers[cut[s].layer_first].input;
  rep worst = 0;
  for (const part& a : cut[s - 1].group)
    for (const part& b : cut[s].group)
      worst = std::max(worst, link_time(size, space.swarm->between(a.peer, b.peer).link).count());
  return worst;
}

void set_depths(const planning_space& space, const outline& cut, plan& p) {
  std::vector<rep> once(cut.size());
  rep pace = 1;  // a micro-batch of the slowest stage, all its lanes together
  for (std::size_t s = 0; s < cut.size(); ++s) {
    once[s] = once_of(space, cut[s]);
    pace = std::max(pace, once[s] * longest_lane(*space.model, p.stages[s]) /
                              std::max<rep>(space.model->micro_batch_count, 1));
  }
  rep round_trip = 0;
  for (std::size_t s = cut.size(); s-- > 0;) {
    round_trip += once[s];
    stage& here = p.stages[s];
    const std::uint32_t longest = longest_lane(*space.model, here);
    if (space.schedule == schedule_kind::gpipe) {
      here.in_flight_max = longest;
    } else {
      // The pace of one lane of this stage.
      const rep lane_pace = std::max<rep>(pace * space.model->micro_batch_count / longest, 1);
      const rep needed = s + 1 == cut.size() ? 1 : (round_trip + lane_pace - 1) / lane_pace + 1;
      here.in_flight_max = static_cast<std::uint32_t>(std::min<rep>(needed, longest));
    }
    if (s > 0) round_trip += 2 * hop_of(space, cut, s);
  }
  // A lane that waits for more micro-batches than one before it lets go would wait for ever.
  std::uint32_t deepest = 1;
  for (std::size_t s = cut.size(); s-- > 0;) {
    stage& here = p.stages[s];
    deepest = std::max(deepest, here.in_flight_max);
    here.in_flight_max = std::min(deepest, longest_lane(*space.model, here));
  }
}

/// Returns the deepest that stage `s` may run behind those before it.
std::uint32_t depth_behind(const model_profile& model, const plan& p, std::uint32_t s) {
  std::uint32_t most = model.micro_batch_count;
  for (std::uint32_t r = 0; r < s; ++r)
    if (p.stages[r].in_flight_max < longest_lane(model, p.stages[r]))
      most = std::min(most, p.stages[r].in_flight_max);
  return most;
}

bool over(const planning_space& space, const plan& p, const place& where) {
  const auto at = space.swarm->position_of(p.stages[where.stage].group[where.index].peer);
  return stage_memory(*space.model, p, where) > space.swarm->peers()[at].memory_offer;
}

/// Lowers a stage until all its members fit; returns whether they do.
bool lower(const planning_space& space, plan& p, std::uint32_t s) {
  for (std::uint32_t m = 0; m < p.stages[s].group.size(); ++m) {
    while (over(space, p, {s, m})) {
      member& who = p.stages[s].group[m];
      const std::uint32_t lanes = lane_count(who);
      if (p.stages[s].in_flight_max > 1 && p.schedule == schedule_kind::one_f_one_b) {
        --p.stages[s].in_flight_max;
      } else if (lanes > 1) {
        who.workers = (lanes + 1) / 2;
        if (p.schedule == schedule_kind::gpipe)
          p.stages[s].in_flight_max = longest_lane(*space.model, p.stages[s]);
      } else {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

outline outline_of(const fleet& swarm, const plan& p) {
  outline cut;
  for (const stage& s : p.stages) {
    cut.push_back({s.layer_first, s.layer_count, {}});
    for (const member& who : s.group) {
      const std::uint32_t at = swarm.position_of(who.peer);
      CHECK(at < swarm.size());
      cut.back().group.push_back({at, who.slice_count});
    }
  }
  return cut;
}

std::optional<plan> fitted(const planning_space& space, const outline& cut) {
  plan p = at_full_width(space, cut);
  set_depths(space, cut, p);
  // From the front: what a stage keeps of its input follows from the stage before it.
  for (std::uint32_t s = 0; s < p.stages.size(); ++s) {
    if (p.schedule == schedule_kind::one_f_one_b)
      p.stages[s].in_flight_max =
          std::min(p.stages[s].in_flight_max, depth_behind(*space.model, p, s));
    if (lower(space, p, s)) continue;
    // Fewer micro-batches under way upstream leave this one fewer inputs.
    const bool can = s > 0 && p.schedule == schedule_kind::one_f_one_b;
    if (!can || p.stages[s - 1].in_flight_max <= 1) return std::nullopt;
    --p.stages[s - 1].in_flight_max;
    --s;
  }
  return p;
}

std::optional<shortfall> shortfall_of(const planning_space& space, const outline& cut) {
  plan p = at_full_width(space, cut);
  for (stage& s : p.stages) {
    s.in_flight_max = 1;
    for (member& who : s.group) who.workers = 1;
  }
  std::optional<shortfall> most;
  std::uint64_t missing = 0;
  for (std::uint32_t s = 0; s < p.stages.size(); ++s)
    for (std::uint32_t m = 0; m < p.stages[s].group.size(); ++m) {
      const peer_record& record =
          space.swarm->peers()[space.swarm->position_of(p.stages[s].group[m].peer)];
      const bytes needed = stage_memory(*space.model, p, {s, m});
      if (needed.count <= record.memory_offer.count + missing) continue;
      missing = needed.count - record.memory_offer.count;
      most = shortfall{record.peer, needed, record.memory_offer};
    }
  return most;
}

std::vector<std::uint32_t> poured(std::uint32_t units, const std::vector<rep>& each) {
  CHECK(!each.empty() && each.size() <= units);
  std::vector<std::uint32_t> shares(each.size(), 1);
  for (auto left = units - static_cast<std::uint32_t>(each.size()); left > 0; --left) {
    std::size_t best = 0;
    for (std::size_t m = 1; m < each.size(); ++m)
      if (each[m] * (shares[m] + 1) < each[best] * (shares[best] + 1)) best = m;
    ++shares[best];
  }
  return shares;
}

}  // namespace perigee::planner
