#include "planner/plan/fleet_plan.hpp"

#include "planner/plan/bound.hpp"
#include "planner/plan/exact_search.hpp"
#include "planner/plan/label_search.hpp"
#include "planner/plan/local_search.hpp"
#include "planner/plan/partition.hpp"
#include "proto/base/check.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace perigee::planner {

namespace {

using rep = duration::rep;

bool calibrated(const peer_record& record) {
  return std::any_of(record.rate.begin(), record.rate.end(), [](auto rate) { return rate > 0; });
}

bool wishes_for_a_form(const wishes& w) {
  return w.stages > 0 || !w.replicas.empty() || !w.shares.empty() || !w.order.empty();
}

/// Returns the worst link of the fleet, for what knows of one link only.
link_estimate worst_link(const fleet& swarm) {
  link_estimate worst{duration{}, std::numeric_limits<std::uint64_t>::max()};
  const auto look = [&](const link_kind& kind) {
    worst.latency = std::max(worst.latency, kind.link.latency);
    worst.bytes_per_second = std::min(worst.bytes_per_second, kind.link.bytes_per_second);
  };
  if (swarm.size() < 2) return {};
  if (swarm.uniform()) look(swarm.between(0, 1));
  for (std::uint32_t a = 0; a < swarm.size() && !swarm.uniform(); ++a)
    for (std::uint32_t b = a + 1; b < swarm.size(); ++b) look(swarm.between(a, b));
  return worst;
}

/// A plan on its way to being chosen.
struct candidate {
  plan p;
  step_report step;
};

class planning {
public:
  explicit planning(const fleet_request& request)
      : request_(request),
        space_{request.model, request.swarm, request.wanted->schedule},
        sums_(space_),
        with_{&space_, &sums_, granularity::slice, 0} {
    for (std::uint32_t p = 0; p < space_.swarm->size(); ++p) usable_.push_back(p);
  }

  result<fleet_plan> made() {
    const bool small = usable_.size() <= limits::planned_peers_max;
    const bool fixed = wishes_for_a_form(*request_.wanted);
    tier_ = planning_tier::as_wished;
    if (!fixed) search();
    // The search looks for time and may find no room where exactness about memory does.
    if (small || fixed || !best_) {
      const auto other = partition(as_partition_input(request_.wanted->order));
      if (other) offer(*other);
      if (!best_ && !fixed) last_resort(small);
      if (!best_) return other.why();
    }
    fleet_plan done{best_->p, best_->step, step_bound(space_, sums_), tier_, looked_at_};
    if (!fixed) refine(done);
    done.chosen.job = request_.job;
    done.chosen.predicted_step = done.step.total;
    done.looked_at = looked_at_;
    return done;
  }

private:
  planning_input as_partition_input(const std::vector<peer_id>& order) {
    wanted_ = *request_.wanted;
    wanted_.order = order;
    planning_input input;
    input.model = request_.model;
    input.wanted = &wanted_;
    input.peers = space_.swarm->peers();
    input.link = worst_link(*space_.swarm);
    return input;
  }

  void search() {
    const bool many = usable_.size() > request_.limits.label_peers_max;
    tier_ = many ? planning_tier::blocks : planning_tier::labels;
    label_options how;
    if (many) how = {.labels = 4, .ends = 2, .probes = 8, .wider_caps = true};
    if (usable_.size() <= 16) how = {.labels = 24, .ends = 4, .probes = 10, .wider_caps = true};
    std::vector<outline> all;
    const auto sweep = [&](const std::vector<std::uint32_t>& order) {
      label_search labels(with_, order, how);
      for (outline& cut : labels.sweep()) all.push_back(std::move(cut));
    };
    const auto tried = orders(many);
    if (!many) std::for_each(tried.begin(), tried.end(), sweep);
    // Groups of one size with equal shares: lanes that line up from stage to stage.
    const std::uint32_t slices = space_.model->slice_count;
    const auto most = std::min<std::size_t>(slices, usable_.size());
    for (how.members = 1; how.members <= most; ++how.members)
      if (slices % how.members == 0) sweep(tried[0]);
    std::vector<std::pair<rep, std::size_t>> ranked;
    for (std::size_t i = 0; i < all.size(); ++i) ranked.emplace_back(estimate(with_, all[i]), i);
    std::sort(ranked.begin(), ranked.end());
    // The best of each number of stages, then the next best ones: starts that differ.
    std::vector<outline> starts;
    std::set<std::size_t> lengths;
    for (const bool any_length : {false, true})
      for (const auto& [time, i] : ranked) {
        if (starts.size() >= request_.limits.finalists) break;
        if (!any_length && !lengths.insert(all[i].size()).second) continue;
        if (std::find(starts.begin(), starts.end(), all[i]) != starts.end()) continue;
        if (consider(all[i])) starts.push_back(all[i]);
      }
    if (!many) make_room(all, ranked, starts);
    if (usable_.size() <= limits::planned_peers_max) partitioned(starts);
    if (best_) improve(starts);
  }

  /// What does not fit as it is may fit when moved on: the first such outlines are.
  void make_room(const std::vector<outline>& all,
                 const std::vector<std::pair<rep, std::size_t>>& ranked,
                 std::vector<outline>& starts) {
    std::set<std::size_t> lengths;
    for (const auto& [time, i] : ranked) {
      if (!shortfall_of(space_, all[i]) || !lengths.insert(all[i].size()).second) continue;
      if (lengths.size() > request_.limits.finalists) return;
      local_search moves(with_, judge::room, request_.limits.moves_max);
      const outline moved = moves.improved(all[i]);
      looked_at_ += moves.spent();
      if (consider(moved)) starts.push_back(moved);
    }
  }

  /// Returns a stage for each peer, moved until it fits; nothing if it fits at once (others find
  /// that) or never.
  std::optional<outline> chain_with_room(const std::vector<std::uint32_t>& order) {
    const auto stages = static_cast<std::uint32_t>(order.size());
    if (stages == 0 || stages > sums_.layers()) return std::nullopt;
    outline chain;
    for (std::uint32_t s = 0, first = 0; s < stages; ++s) {
      const std::uint32_t end = sums_.layers() * (s + 1) / stages;
      chain.push_back({first, end - first, {{order[s], space_.model->slice_count}}});
      first = end;
    }
    if (!shortfall_of(space_, chain)) return std::nullopt;
    local_search moves(with_, judge::room, request_.limits.moves_max);
    outline moved = moves.improved(std::move(chain));
    looked_at_ += moves.spent();
    if (!fitted(space_, moved)) return std::nullopt;
    return moved;
  }

  /// The exact chains over several orders: of few peers, over all.
  void partitioned(std::vector<outline>& starts) {
    std::vector<std::vector<std::uint32_t>> tried{{}};
    if (usable_.size() <= request_.limits.permuted_peers_max &&
        sums_.layers() <= request_.limits.exact_layers_max) {
      auto order = usable_;
      do tried.push_back(order);
      while (std::next_permutation(order.begin(), order.end()));
    }
    std::vector<std::pair<rep, outline>> found;
    for (const auto& order : tried) {
      if (const auto chain = chain_with_room(order)) {
        consider(*chain);
        found.emplace_back(estimate(with_, *chain), *chain);
      }
      std::vector<peer_id> named;
      for (const std::uint32_t p : order) named.push_back(space_.swarm->peers()[p].peer);
      const auto other = partition(as_partition_input(named));
      if (!other) continue;
      offer(*other);
      outline cut = outline_of(*space_.swarm, *other);
      const rep time = estimate(with_, cut);
      found.emplace_back(time, std::move(cut));
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    if (found.size() > 2 * request_.limits.finalists) found.resize(2 * request_.limits.finalists);
    for (auto& [time, cut] : found) starts.push_back(std::move(cut));
  }

  /// Moves on from the first starts: judged by simulations as long as the allowance is worth some
  /// hundred of them, else by the estimate.
  void improve(const std::vector<outline>& starts) {
    const std::uint64_t passes = best_->p.stages.size() * request_.model->micro_batch_count * 2;
    const bool cheap = passes * 200 <= request_.limits.passes_max;
    const auto best = outline_of(*space_.swarm, best_->p);
    local_search quick(with_, judge::estimate, request_.limits.moves_max);
    consider(quick.improved(best));
    looked_at_ += quick.spent();
    if (!cheap) return;
    for (const outline& start : starts) {
      local_search moves(with_, judge::simulation, request_.limits.passes_max / starts.size());
      consider(moves.improved(start));
      looked_at_ += moves.spent() / (passes + 1);
    }
    if (usable_.size() > request_.limits.kicked_peers_max) return;
    // From beside the best: what no single move betters may be bettered from a worse place.
    for (std::uint32_t round = 0; round < request_.limits.kick_rounds_max; ++round) {
      const rep before = best_->step.total.count();
      const auto kicked = kicks(outline_of(*space_.swarm, best_->p));
      for (const outline& start : kicked) {
        local_search moves(with_, judge::simulation, request_.limits.passes_max / kicked.size());
        consider(moves.improved(start));
        looked_at_ += moves.spent() / (passes + 1);
      }
      if (best_->step.total.count() == before) return;
    }
  }

  /// Outlines that differ from one by more than a move: groups in the opposite order, one stage on
  /// the peers of two, a stage whose back half an idle peer has, one in the place of a group.
  std::vector<outline> kicks(const outline& best) const {
    std::vector<outline> all;
    all.push_back(best);
    for (std::size_t s = 0; s < best.size(); ++s)
      all.back()[s].group = best[best.size() - 1 - s].group;
    for (std::size_t s = 0; s + 1 < best.size(); ++s) {
      outline merged = best;
      auto& group = merged[s].group;
      merged[s].layer_count += merged[s + 1].layer_count;
      for (const part& who : merged[s + 1].group) group.push_back({who.peer, 1});
      merged.erase(merged.begin() + static_cast<std::ptrdiff_t>(s) + 1);
      if (group.size() > space_.model->slice_count) continue;
      group.front().slices = space_.model->slice_count;
      for (std::size_t m = 1; m < group.size(); ++m)
        group.front().slices -= (group[m].slices = space_.model->slice_count /
                                                   static_cast<std::uint32_t>(group.size()));
      all.push_back(std::move(merged));
    }
    std::set<std::uint32_t> idle(usable_.begin(), usable_.end());
    for (const outline_stage& s : best)
      for (const part& who : s.group) idle.erase(who.peer);
    for (const std::uint32_t other : idle)
      for (std::size_t s = 0; s < best.size(); ++s) {
        outline changed = best;
        changed[s].group = {{other, space_.model->slice_count}};
        all.push_back(changed);
        changed = best;
        const std::uint32_t back = changed[s].layer_count / 2;
        if (back == 0) continue;
        changed[s].layer_count -= back;
        const outline_stage second{changed[s].layer_first + changed[s].layer_count,
                                   back,
                                   {{other, space_.model->slice_count}}};
        changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(s) + 1, second);
        all.push_back(std::move(changed));
      }
    return all;
  }

  /// Returns whether it fits.
  bool consider(const outline& cut) {
    const auto p = fitted(space_, cut);
    if (p) offer(*p);
    return p.has_value();
  }

  void offer(const plan& p) {
    candidate c{p, simulate_step({space_.model, space_.swarm}, p)};
    if (!best_ || c.step.total < best_->step.total) best_ = std::move(c);
  }

  /// Where memory decides: exact about it, over several orders; then every plan there is.
  void last_resort(bool small) {
    for (const auto& order : orders(false)) {
      std::vector<peer_id> named;
      for (const std::uint32_t p : order) named.push_back(space_.swarm->peers()[p].peer);
      const auto other = partition(as_partition_input(named));
      if (other) offer(*other);
    }
    if (best_ || !small || !enumerable()) return;
    const auto exact = search_exactly({with_, duration::max(), request_.limits.exact_nodes_max});
    looked_at_ += exact.nodes;
    if (exact.best) offer(*exact.best);
  }

  bool enumerable() const {
    return usable_.size() <= request_.limits.exact_peers_max &&
           sums_.layers() <= request_.limits.exact_layers_max;
  }

  /// Small swarms: proves it, or finds the better one.
  void refine(fleet_plan& done) {
    if (!enumerable()) return;
    auto exact = search_exactly({with_, done.step.total, request_.limits.exact_nodes_max});
    looked_at_ += exact.nodes;
    if (exact.best) {
      done.chosen = *exact.best;
      done.step = simulate_step({space_.model, space_.swarm}, done.chosen);
    }
    if (!exact.proven) return;
    done.tier = planning_tier::exact;
    done.bound = done.step.total;
  }

  std::vector<std::vector<std::uint32_t>> orders(bool many) const {
    const auto time = [this](std::uint32_t p) { return sums_.pass(p, {0, sums_.layers()}); };
    const auto sorted = [&](const std::function<rep(std::uint32_t)>& key) {
      auto order = usable_;
      std::stable_sort(order.begin(), order.end(),
                       [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
      return order;
    };
    const auto memory = [this](std::uint32_t p) {
      return static_cast<rep>(space_.swarm->peers()[p].memory_offer.count / 2);
    };
    std::vector<std::vector<std::uint32_t>> all;
    if (!space_.swarm->uniform()) all.push_back(by_neighbours());
    all.push_back(sorted(time));
    if (many) return all;
    all.push_back(sorted([&](std::uint32_t p) { return -time(p); }));
    all.push_back(sorted([&](std::uint32_t p) { return -memory(p); }));
    all.push_back(usable_);
    return all;
  }

  /// Begins with the fastest peer; goes on with whoever the last one reaches best, faster ones
  /// first.
  std::vector<std::uint32_t> by_neighbours() const {
    const auto time = [this](std::uint32_t p) { return sums_.pass(p, {0, sums_.layers()}); };
    std::vector<std::uint32_t> left = usable_;
    std::vector<std::uint32_t> order;
    while (!left.empty()) {
      const auto key = [&](std::uint32_t p) {
        if (order.empty()) return std::tuple{rep{0}, time(p), p};
        const link_estimate& link = space_.swarm->between(order.back(), p).link;
        return std::tuple{link_time({1U << 16U}, link).count(), time(p), p};
      };
      const auto at =
          std::min_element(left.begin(), left.end(),
                           [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
      order.push_back(*at);
      left.erase(at);
    }
    return order;
  }

  const fleet_request& request_;
  planning_space space_;
  layer_sums sums_;
  estimator with_;
  std::vector<std::uint32_t> usable_;
  wishes wanted_;
  planning_tier tier_ = planning_tier::labels;
  std::optional<candidate> best_;
  std::uint64_t looked_at_ = 0;
};

}  // namespace

std::string_view name_of(planning_tier tier) noexcept {
  constexpr std::string_view names[] = {"as wished", "exact", "labels", "blocks"};
  return names[static_cast<std::size_t>(tier)];
}

std::uint64_t gap_permille(const fleet_plan& made) noexcept {
  const auto bound = static_cast<std::uint64_t>(std::max<rep>(made.bound.count(), 1));
  const auto total = static_cast<std::uint64_t>(made.step.total.count());
  return total <= bound ? 0 : (total - bound) * 1000 / bound;
}

result<fleet_plan> plan_fleet(const fleet_request& request) {
  CHECK(request.model != nullptr && request.swarm != nullptr && request.wanted != nullptr);
  CHECK(!request.model->layers.empty() && request.model->slice_count > 0);
  std::vector<std::uint32_t> usable;
  for (std::uint32_t p = 0; p < request.swarm->size(); ++p)
    if (calibrated(request.swarm->peers()[p])) usable.push_back(p);
  if (request.swarm->size() == 0) return error{errc::infeasible, "there are no peers"};
  if (usable.empty()) return error{errc::unavailable, "no peer has a speed yet"};
  if (usable.size() == request.swarm->size()) return planning(request).made();
  const fleet some = request.swarm->only(usable);
  fleet_request narrower = request;
  narrower.swarm = &some;
  return planning(narrower).made();
}

}  // namespace perigee::planner
