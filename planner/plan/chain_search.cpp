#include "planner/plan/chain_search.hpp"

#include "proto/base/check.hpp"
#include "proto/stage_memory.hpp"

#include <algorithm>

namespace perigee::planner {

namespace {

/// Above so many ways to share the slices among peers, shares are poured instead of tried.
constexpr std::uint64_t ways_max = 4096;

/// Returns n over k, or `ways_max + 1` if it is more than that.
std::uint64_t choices(std::uint64_t n, std::uint64_t k) {
  std::uint64_t count = 1;
  for (std::uint64_t i = 1; i <= k; ++i) {
    count = count * (n - k + i) / i;
    if (count > ways_max) return ways_max + 1;
  }
  return count;
}

}  // namespace

chain_search::chain_search(const chain_problem& problem)
    : problem_(problem),
      model_(*problem.model),
      layers_(static_cast<std::uint32_t>(problem.model->layers.size())),
      peers_(static_cast<std::uint32_t>(problem.peers.size())),
      roomy_(enough_room()),
      poured_(problem.shape.shares.empty() && many_ways()) {
  for (const peer_record& record : problem.peers) {
    std::vector<rep> pass{0};
    std::vector<rep> update{0};
    for (const layer_profile& layer : model_.layers) {
      pass.push_back(pass.back() + layer_time(layer, record.rate).both().count());
      update.push_back(update.back() + update_time(layer, record.rate).count());
    }
    pass_.push_back(std::move(pass));
    update_.push_back(std::move(update));
  }
  const std::size_t stages_max = std::min(layers_, peers_);
  known_.resize(std::size_t{layers_} * peers_ * (stages_max + 1));
}

std::optional<std::vector<stage>> chain_search::best(std::uint32_t stages) {
  CHECK(stages > 0);
  if (stages > layers_ || stages > peers_) return std::nullopt;
  stages_ = stages;
  std::vector<stage> result;
  state at{.layer = 0, .peer = 0, .stages = stages, .incoming = 0};
  for (; at.stages > 0; --at.stages) {
    const found& here = explore(at);
    if (here.best.bottleneck == unreachable) return std::nullopt;
    draft d;
    d.at = at;
    d.layer_end = here.layer_end;
    d.group = here.group;
    result.push_back(stage_of(d));
    at.layer = here.layer_end;
    at.peer = here.group.back().peer + 1;
    at.incoming = outgoing(result.back());
  }
  return result;
}

const chain_search::found& chain_search::explore(const state& at) {
  for (const found& f : known(at)) {
    if (f.incoming == at.incoming) return f;
  }
  found f;
  f.incoming = at.incoming;
  start_at(at, f);
  if (!done(f) && peers_ - at.peer > at.stages) {
    state without = at;
    ++without.peer;
    const found& other = explore(without);
    if (other.best < f.best) f = other;
  }
  known(at).push_back(std::move(f));
  return known(at).back();
}

void chain_search::start_at(const state& at, found& into) {
  const std::uint32_t slices = model_.slice_count;
  const std::uint32_t index = stages_ - at.stages;
  const auto& sizes = problem_.shape.sizes;
  const auto& shares = problem_.shape.shares;
  draft d;
  d.at = at;
  d.slices_left = slices;
  d.into = &into;
  if (!sizes.empty()) d.size = sizes.size() == 1 ? sizes[0] : sizes[index];
  if (!shares.empty()) d.shares = &shares[index];
  const std::uint32_t last = layers_ - (at.stages - 1);
  const auto least = static_cast<rep>(micro_batches_of(model_, {0, 1}));
  for (std::uint32_t end = at.stages == 1 ? layers_ : at.layer + 1; end <= last; ++end) {
    rep fastest = unreachable;
    for (std::uint32_t p = at.peer; p < peers_; ++p) {
      fastest = std::min(fastest, pass_[p][end] - pass_[p][at.layer]);
    }
    // Some member does the first slice, and longer stages only take longer.
    if (into.best.bottleneck / least < fastest) break;
    d.layer_end = end;
    if (poured_) {
      pour(d);
    } else {
      extend(d, at.peer);
    }
    if (done(into)) break;
  }
}

void chain_search::extend(draft& d, std::uint32_t next) {
  const bool first = d.group.empty();
  const std::uint32_t members_left =
      d.size == 0 ? 0 : d.size - static_cast<std::uint32_t>(d.group.size());
  const std::uint32_t reserved = std::max(members_left, 1U) - 1;  // a slice for each later member
  if (d.slices_left <= reserved) return;
  std::uint32_t least = members_left == 1 ? d.slices_left : 1;
  std::uint32_t most = d.slices_left - reserved;
  if (d.shares != nullptr) least = most = (*d.shares)[d.group.size()];
  const std::uint32_t slice_first = model_.slice_count - d.slices_left;
  const std::uint32_t stages_behind = d.at.stages - 1;
  for (std::uint32_t p = next; p + stages_behind + reserved < peers_; ++p) {
    for (std::uint32_t k = least; k <= most; ++k) {
      if (done(*d.into)) return;
      const share mine{p, k};
      if (time_of(d, mine, slice_first) > d.into->best.bottleneck) continue;
      d.group.push_back(mine);
      d.slices_left -= k;
      if (d.slices_left == 0) {
        finish(d);
      } else {
        extend(d, p + 1);
      }
      d.slices_left += k;
      d.group.pop_back();
    }
    if (first) break;  // the state names the group's first peer
  }
}

void chain_search::pour(draft& d) {
  const std::uint32_t available = peers_ - d.at.peer - (d.at.stages - 1);
  const std::uint32_t most = std::min(model_.slice_count, available);
  const std::uint32_t size_first = d.size == 0 ? 1 : d.size;
  const std::uint32_t size_last = d.size == 0 ? most : d.size;
  for (std::uint32_t size = size_first; size <= std::min(size_last, most); ++size) {
    d.group.clear();
    for (std::uint32_t m = 0; m < size; ++m) d.group.push_back({d.at.peer + m, 1});
    for (std::uint32_t slice = size; slice < model_.slice_count; ++slice) {
      std::size_t chosen = 0;
      rep soonest = unreachable;
      for (std::size_t m = 0; m < size; ++m) {
        const rep t = time_of(d, {d.group[m].peer, d.group[m].slices + 1}, 0);
        if (t < soonest) {
          soonest = t;
          chosen = m;
        }
      }
      ++d.group[chosen].slices;
    }
    finish(d);
  }
  d.group.clear();
}

void chain_search::finish(const draft& d) {
  rep slowest = 0;
  rep once = 0;
  std::uint32_t slice_first = 0;
  for (const share& s : d.group) {
    slowest = std::max(slowest, time_of(d, s, slice_first));
    once = std::max(once, load_on(d, s.peer).micro_batch.count());
    slice_first += s.slices;
  }
  const auto members = static_cast<std::uint32_t>(d.group.size());
  const std::uint32_t count = d.layer_end - d.at.layer;
  slowest += reduce_time(model_, d.at.layer, count, members, problem_.link).count();
  if (slowest > d.into->best.bottleneck) return;
  if (d.at.layer > 0) {
    once += 2 * link_time(model_.layers[d.at.layer].input, problem_.link).count();
  }
  const stage made = stage_of(d);
  if (!roomy_ && !fits(d, made)) return;
  value v{slowest, once};
  if (d.at.stages > 1) {
    const value rest = explore({.layer = d.layer_end,
                                .peer = d.group.back().peer + 1,
                                .stages = d.at.stages - 1,
                                .incoming = outgoing(made)})
                           .best;
    if (rest.bottleneck == unreachable) return;
    v = {std::max(v.bottleneck, rest.bottleneck), v.path + rest.path};
  }
  if (v < d.into->best) {
    d.into->best = v;
    d.into->layer_end = d.layer_end;
    d.into->group = d.group;
  }
}

stage chain_search::stage_of(const draft& d) const {
  stage s{.layer_first = d.at.layer, .layer_count = d.layer_end - d.at.layer, .group = {}};
  std::uint32_t slice_first = 0;
  std::uint32_t longest = 1;
  for (const share& m : d.group) {
    const peer_record& record = problem_.peers[m.peer];
    s.group.push_back({record.peer, slice_first, m.slices, record.workers});
    longest = std::max(longest, busiest_lane(model_, s.group.back()));
    slice_first += m.slices;
  }
  const bool all = problem_.schedule == schedule_kind::gpipe;
  s.in_flight_max = all ? longest : std::min(longest, d.at.stages);
  return s;
}

stage_load chain_search::load_on(const draft& d, std::uint32_t peer) const {
  stage_load load{.micro_batch = duration{pass_[peer][d.layer_end] - pass_[peer][d.at.layer]},
                  .update = duration{update_[peer][d.layer_end] - update_[peer][d.at.layer]},
                  .crossing = {}};
  if (d.at.layer > 0) load.crossing += model_.layers[d.at.layer].input;
  if (d.layer_end < layers_) load.crossing += model_.layers[d.layer_end - 1].output;
  return load;
}

chain_search::rep chain_search::time_of(const draft& d, const share& s,
                                        std::uint32_t slice_first) const {
  const member who{problem_.peers[s.peer].peer, slice_first, s.slices,
                   problem_.peers[s.peer].workers};
  return member_time(model_, load_on(d, s.peer), who, problem_.link).count();
}

bool chain_search::done(const found& f) const {
  return problem_.any && f.best.bottleneck != unreachable;
}

bool chain_search::fits(const draft& d, const stage& s) const {
  plan around;
  if (d.at.layer > 0) {
    // One lane upstream that has as many micro-batches under way as the real ones together.
    CHECK(d.at.incoming > 0);
    around.stages.push_back({.layer_first = 0,
                             .layer_count = d.at.layer,
                             .in_flight_max = d.at.incoming - 1,
                             .group = {{peer_id{}, 0, model_.slice_count, 1}}});
  }
  around.stages.push_back(s);
  place where{.stage = static_cast<std::uint32_t>(around.stages.size() - 1), .index = 0};
  for (const share& m : d.group) {
    const bytes offered = problem_.peers[m.peer].memory_offer + problem_.extra;
    if (stage_memory(model_, around, where) > offered) return false;
    ++where.index;
  }
  return true;
}

std::uint32_t chain_search::outgoing(const stage& s) const {
  if (roomy_) return 0;
  std::uint32_t sum = 0;
  for (const member& who : s.group) {
    for (std::uint32_t lane = 0; lane < lane_count(who); ++lane) {
      sum += slots_of_lane(model_, s, who, lane);
    }
  }
  return sum;
}

std::vector<chain_search::found>& chain_search::known(const state& at) {
  const std::size_t stages_max = std::min(layers_, peers_);
  return known_[(std::size_t{at.layer} * peers_ + at.peer) * (stages_max + 1) + at.stages];
}

bool chain_search::enough_room() const {
  // No share needs more than three times what one peer alone would with every micro-batch under
  // way: at most three totals, and beside its slots the leaving boundary again and the inputs.
  plan whole;
  whole.stages.push_back({.layer_first = 0,
                          .layer_count = layers_,
                          .in_flight_max = model_.micro_batch_count,
                          .group = {{peer_id{}, 0, model_.slice_count, 1}}});
  for (const peer_record& record : problem_.peers) {
    whole.stages[0].group[0].workers = record.workers;
    const bytes most = stage_memory(model_, whole, {0, 0}) * 3;
    if (most > record.memory_offer + problem_.extra) return false;
  }
  return true;
}

bool chain_search::many_ways() const {
  std::uint64_t ways = 0;
  for (std::uint64_t g = 1; g <= std::min(peers_, model_.slice_count); ++g) {
    ways += choices(model_.slice_count - 1, g - 1) * choices(peers_ - 1, g - 1);
  }
  return ways > ways_max;
}

}  // namespace perigee::planner
