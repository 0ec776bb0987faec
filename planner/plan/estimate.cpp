#include "planner/plan/estimate.hpp"

#include "proto/base/check.hpp"

#include <algorithm>
#include <map>

namespace perigee::planner {

namespace {

using rep = duration::rep;

/// Returns the micro-batches of the busiest lane of a member.
rep lane_batches(const estimator& with, const part& who) {
  const auto workers = with.space->swarm->peers()[who.peer].workers;
  if (with.unit == granularity::sample) {
    return rep{(who.slices + workers - 1) / workers} * with.rounds;
  }
  const std::uint32_t slices = (who.slices + workers - 1) / workers;
  const rep all = with.space->model->micro_batch_count;
  return std::min<rep>(rep{slices} * with.space->model->slice_size, all);
}

rep member_batches(const estimator& with, const part& who) {
  if (with.unit == granularity::sample) return rep{who.slices} * with.rounds;
  const rep all = with.space->model->micro_batch_count;
  return std::min<rep>(rep{who.slices} * with.space->model->slice_size, all);
}

struct carrying {
  rep on_link = 0;  // a micro-batch, without latency
  rep latency = 0;
  bool shared = false;
};

/// Returns the worst link between two groups for one micro-batch.
carrying worst_between(const estimator& with, const outline_stage& a, const outline_stage& b) {
  const bytes size = with.space->model->layers[b.layer_first].input;
  carrying worst;
  for (const part& from : a.group) {
    for (const part& to : b.group) {
      const link_kind& kind = with.space->swarm->between(from.peer, to.peer);
      const rep latency = kind.link.latency.count();
      worst.on_link = std::max(worst.on_link, link_time(size, kind.link).count() - latency);
      worst.latency = std::max(worst.latency, latency);
      worst.shared = worst.shared || kind.how == sharing::medium;
      if (with.space->swarm->uniform()) return worst;
    }
  }
  return worst;
}

/// Returns the micro-batches that the busiest pair of two groups has to carry in one direction.
rep busiest_pair(const estimator& with, const outline_stage& a, const outline_stage& b) {
  rep most_a = 0;
  rep most_b = 0;
  for (const part& who : a.group) most_a = std::max(most_a, member_batches(with, who));
  for (const part& who : b.group) most_b = std::max(most_b, member_batches(with, who));
  return std::min(most_a, most_b);
}

/// Adds what a stage puts on each shared medium: at the least, both directions of what it takes in.
void add_media(const estimator& with, const outline_stage& a, const outline_stage& b,
               std::map<std::uint16_t, rep>& media) {
  const auto kind = with.space->swarm->kind_between(a.group[0].peer, b.group[0].peer);
  const link_kind& link = with.space->swarm->between(a.group[0].peer, b.group[0].peer);
  if (link.how == sharing::pair) return;
  const bytes size = with.space->model->layers[b.layer_first].input;
  const rep each = link_time(size, link.link).count() - link.link.latency.count();
  const rep batches = with.unit == granularity::sample
                          ? rep{with.space->model->slice_count} * with.rounds
                          : rep{with.space->model->micro_batch_count};
  media[kind] += 2 * each * batches;
}

}  // namespace

stage_estimate estimate_stage(const estimator& with, const outline_stage& s,
                              const outline_stage* before) {
  const layer_range r{s.layer_first, s.layer_first + s.layer_count};
  stage_estimate e;
  link_estimate slowest{duration{}, ~std::uint64_t{0}};
  for (std::size_t m = 0; m < s.group.size(); ++m) {
    const part& who = s.group[m];
    const rep each = with.sums->pass(who.peer, r);
    const rep passes = each * lane_batches(with, who);
    const auto workers = with.space->swarm->peers()[who.peer].workers;
    const rep lanes = std::max<rep>(std::min(workers, who.slices), 1);
    e.busy = std::max(e.busy, passes + with.sums->update(who.peer, r) / lanes);
    e.once = std::max(e.once, with.unit == granularity::sample ? passes / with.rounds : each);
    if (m == 0) continue;
    const link_estimate& link = with.space->swarm->between(s.group[m - 1].peer, who.peer).link;
    slowest.latency = std::max(slowest.latency, link.latency);
    slowest.bytes_per_second = std::min(slowest.bytes_per_second, link.bytes_per_second);
  }
  if (s.group.size() > 1) {
    e.reduce = with.sums->reduce(r, static_cast<std::uint32_t>(s.group.size()), slowest);
  }
  if (before == nullptr) return e;
  const carrying link = worst_between(with, *before, s);
  const rep batches = busiest_pair(with, *before, s);
  const rep in_round = with.unit == granularity::sample ? batches / with.rounds : 1;
  e.hop = link.on_link * in_round + link.latency;
  e.busy = std::max(e.busy, link.on_link * batches * (link.shared ? 2 : 1));
  return e;
}

namespace {

/// Where the lanes of a stage begin, in slices.
void lanes_of(const estimator& with, const outline_stage& s, std::vector<std::uint32_t>& starts) {
  starts.clear();
  std::uint32_t slice = 0;
  for (const part& who : s.group) {
    const std::uint32_t workers = with.space->swarm->peers()[who.peer].workers;
    const std::uint32_t lanes = std::max(std::min(workers, who.slices), 1U);
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      starts.push_back(slice);
      slice += who.slices / lanes + (lane < who.slices % lanes ? 1 : 0);
    }
  }
}

/// Returns how long two neighbours are busy, given how their lanes lie to each other.
rep busy_side_by_side(const stage_estimate& a, std::size_t lanes_a, const stage_estimate& b,
                      std::size_t lanes_b) {
  const auto more = static_cast<rep>(std::max(lanes_a, lanes_b));
  const auto less = static_cast<rep>(std::min(lanes_a, lanes_b));
  const stage_estimate& wider = lanes_a > lanes_b ? a : b;
  if (more == less) return std::max(a.busy - a.once, b.busy - b.once) / 4 * 5;
  return (wider.busy - wider.once) / less * more;
}

}  // namespace

rep estimate(const estimator& with, const outline& cut) {
  rep waiting = 0;
  stage_estimate last;
  std::vector<std::uint32_t> lanes;
  std::vector<std::uint32_t> lanes_before;
  rep path = 0;
  rep reduce = 0;
  std::map<std::uint16_t, rep> media;
  for (std::size_t s = 0; s < cut.size(); ++s) {
    const outline_stage* before = s == 0 ? nullptr : &cut[s - 1];
    const stage_estimate e = estimate_stage(with, cut[s], before);
    waiting = std::max(waiting, e.busy - e.once);
    path += e.once + 2 * e.hop;
    reduce = std::max(reduce, e.reduce);
    if (before != nullptr && !with.space->swarm->uniform()) add_media(with, *before, cut[s], media);
    if (with.unit == granularity::sample) continue;
    lanes_of(with, cut[s], lanes);
    if (before != nullptr && lanes != lanes_before)
      waiting = std::max(waiting, busy_side_by_side(last, lanes_before.size(), e, lanes.size()));
    lanes.swap(lanes_before);
    last = e;
  }
  rep total = waiting + path + reduce;
  for (const auto& [kind, busy] : media) total = std::max(total, busy + reduce);
  return total;
}

std::vector<std::uint32_t> shares_of(const estimator& with, layer_range r,
                                     const std::vector<std::uint32_t>& peers) {
  std::vector<rep> each;
  for (const std::uint32_t p : peers) {
    const auto workers = with.space->swarm->peers()[p].workers;
    each.push_back(std::max<rep>(with.sums->pass(p, r) / workers, 1));
  }
  return poured(with.space->model->slice_count, each);
}

}  // namespace perigee::planner
