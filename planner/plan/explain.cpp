#include "planner/plan/explain.hpp"

#include "planner/plan/layer_sums.hpp"
#include "planner/plan/outline.hpp"

#include <algorithm>
#include <optional>

namespace perigee::planner {

namespace {

using rep = duration::rep;

planning_space space_of(const fleet_request& request) {
  return {request.model, request.swarm, request.wanted->schedule};
}

/// Returns the simulated step of an outline, or nothing if it does not fit.
std::optional<duration> step_of(const fleet_request& request, const outline& cut) {
  const planning_space space = space_of(request);
  const auto p = fitted(space, cut);
  if (!p) return std::nullopt;
  return simulate_step({space.model, space.swarm}, *p).total;
}

/// Returns e.g. `7.5 %`.
std::string percent(duration part, duration whole) {
  const auto permille = part.count() * 1000 / std::max<rep>(whole.count(), 1);
  return std::to_string(permille / 10) + '.' + std::to_string(permille % 10) + " %";
}

/// Returns e.g. `12.0 ms, 8.3 % less` or `no faster`.
std::string against(duration other, duration now) {
  if (other < now) return text(other) + ", " + percent(now - other, now) + " less";
  return "no faster";
}

/// A place that an idle peer might have, and what a step would then take.
struct attempt {
  std::string where;
  duration step = duration::max();
};

class placement {
public:
  placement(const fleet_request& request, const fleet_plan& made)
      : request_(request),
        space_(space_of(request)),
        sums_(space_),
        with_{&space_, &sums_, granularity::slice, 0},
        cut_(outline_of(*request.swarm, made.chosen)) {}

  /// Returns the best place of those a peer might be given without moving the others.
  attempt best_of(std::uint32_t who) {
    attempt best;
    const auto offer = [&](const outline& changed, const std::string& where) {
      const auto step = step_of(request_, changed);
      if (step && *step < best.step) best = {where, *step};
    };
    for (std::size_t s = 0; s < cut_.size(); ++s) {
      const std::string name = "stage " + std::to_string(s);
      outline joined = cut_;
      joined[s].group.push_back({who, 1});
      if (joined[s].group.size() <= space_.model->slice_count) {
        pour(joined[s]);
        offer(joined, "a share of " + name);
      }
      outline alone = cut_;
      alone[s].group = {{who, space_.model->slice_count}};
      offer(alone, name + " in place of " + names(cut_[s]));
      if (cut_[s].layer_count > 1) offer(split(s, who), "the later layers of " + name);
    }
    return best;
  }

  [[nodiscard]] bytes least_share(std::uint32_t who) const {
    bytes least{~std::uint64_t{0}};
    for (std::uint32_t l = 0; l < sums_.layers(); ++l)
      least = std::min(least, sums_.least_memory({l, l + 1}, {.slices = 1, .index = 0, .size = 1}));
    static_cast<void>(who);
    return least;
  }

  [[nodiscard]] const outline& cut() const { return cut_; }

private:
  void pour(outline_stage& s) const {
    std::sort(s.group.begin(), s.group.end());
    std::vector<std::uint32_t> peers;
    for (const part& m : s.group) peers.push_back(m.peer);
    const auto shares = shares_of(with_, {s.layer_first, s.layer_first + s.layer_count}, peers);
    for (std::size_t m = 0; m < peers.size(); ++m) s.group[m].slices = shares[m];
  }

  /// Gives `who` as many of a stage's last layers as its speed is worth.
  outline split(std::size_t s, std::uint32_t who) const {
    outline changed = cut_;
    const outline_stage& whole = cut_[s];
    const layer_range r{whole.layer_first, whole.layer_first + whole.layer_count};
    rep group = 1;
    for (const part& m : whole.group) group = std::max(group, sums_.pass(m.peer, r) * m.slices);
    const rep own = std::max<rep>(sums_.pass(who, r) * space_.model->slice_count, 1);
    const auto given =
        std::clamp<rep>(whole.layer_count * group / (group + own), 1, rep{whole.layer_count} - 1);
    changed[s].layer_count -= static_cast<std::uint32_t>(given);
    const outline_stage behind{r.end - static_cast<std::uint32_t>(given),
                               static_cast<std::uint32_t>(given),
                               {{who, space_.model->slice_count}}};
    changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(s) + 1, behind);
    return changed;
  }

  std::string names(const outline_stage& s) const {
    std::string line;
    for (const part& m : s.group)
      line += (line.empty() ? "" : ", ") + text(space_.swarm->peers()[m.peer].peer);
    return line;
  }

  const fleet_request& request_;
  planning_space space_;
  layer_sums sums_;
  estimator with_;
  outline cut_;
};

std::string why_idle(placement& places, const fleet_request& request, const fleet_plan& made,
                     std::uint32_t who) {
  const peer_record& record = request.swarm->peers()[who];
  const bytes least = places.least_share(who);
  if (least > record.memory_offer)
    return "it offers " + text(record.memory_offer) + " and the smallest layer needs " +
           text(least) + ": short by " + text(least - record.memory_offer);
  const attempt best = places.best_of(who);
  if (best.where.empty()) return "no share of any stage fits into its " + text(record.memory_offer);
  if (best.step < made.step.total)
    return "the search missed it: with " + best.where + " a step would take " + text(best.step);
  const duration longer = best.step - made.step.total;
  return "its best place, " + best.where + ", makes a step " +
         (longer == duration::zero() ? "no shorter" : text(longer) + " longer");
}

std::string binding_text(const step_parts& parts, const fleet_plan& made) {
  const std::string stage = std::to_string(made.step.slowest_stage);
  const duration most = std::max({parts.compute, parts.warm_up, parts.links, parts.reduction});
  std::string line = "compute binds: stage " + stage;
  if (most == parts.links) line = "links bind: stage " + stage + " is the busiest";
  if (most == parts.reduction) line = "the reduction binds; stage " + stage + " is the busiest";
  if (most == parts.warm_up)
    line = "filling and draining the pipeline binds: few micro-batches; stage " + stage +
           " is the busiest";
  return line + ", computing for " + percent(parts.compute, made.step.total) + " of a step";
}

std::string cut_text(const fleet_request& request, const fleet_plan& made, const outline& cut,
                     std::size_t s) {
  std::string line = "between layers " + std::to_string(cut[s].layer_first - 1) + " and " +
                     std::to_string(cut[s].layer_first) + " (" +
                     text(request.model->layers[cut[s].layer_first].input) + " a micro-batch)";
  for (const bool later : {false, true}) {
    const outline_stage& shrinks = later ? cut[s] : cut[s - 1];
    line += later ? "; a layer later " : "; a layer earlier ";
    if (shrinks.layer_count < 2) {
      line += "leaves a stage empty";
      continue;
    }
    outline changed = cut;
    changed[s].layer_first += later ? 1 : ~0U;
    changed[s].layer_count += later ? ~0U : 1;
    changed[s - 1].layer_count += later ? 1 : ~0U;
    const auto step = step_of(request, changed);
    if (!step) {
      line += "does not fit into memory";
    } else if (*step < made.step.total) {
      line += "would be faster by " + percent(made.step.total - *step, made.step.total);
    } else {
      line += "costs " + percent(*step - made.step.total, made.step.total);
    }
  }
  return line;
}

/// Returns what a step would take with another fleet.
std::string with_fleet(const fleet_request& request, const fleet_plan& made,
                       const fleet_description& other) {
  const fleet swarm(other);
  fleet_request changed = request;
  changed.swarm = &swarm;
  const auto plan = plan_fleet(changed);
  return plan ? against(plan->step.total, made.step.total) : "no plan";
}

std::vector<std::string> gains_of(const fleet_request& request, const fleet_plan& made,
                                  const fleet_description& described) {
  std::vector<std::string> lines;
  auto more = described;
  const peer_record fastest =
      *std::max_element(more.peers.begin(), more.peers.end(),
                        [](const peer_record& a, const peer_record& b) { return a.rate < b.rate; });
  peer_record twin = fastest;
  for (const peer_record& p : more.peers)
    twin.peer.value = std::max(twin.peer.value, p.peer.value + 1);
  more.peers.push_back(twin);
  lines.push_back("one more peer like " + text(fastest.peer) + ": " +
                  with_fleet(request, made, more));
  auto roomier = described;
  for (peer_record& p : roomier.peers) p.memory_offer += {1ULL << 30U};
  lines.push_back("1 GiB more at every peer: " + with_fleet(request, made, roomier));
  auto wider = described;
  const auto widen = [](link_estimate& link) { link.bytes_per_second *= 10; };
  widen(wider.usual);
  for (auto& link : wider.shared) widen(link.link);
  for (auto& link : wider.pairs) widen(link.link);
  lines.push_back("ten times the bandwidth: " + with_fleet(request, made, wider));
  return lines;
}

}  // namespace

std::vector<idle_peer> idle_in(const fleet_request& request, const fleet_plan& made) {
  placement places(request, made);
  std::vector<idle_peer> idle;
  for (std::uint32_t p = 0; p < request.swarm->size(); ++p) {
    const peer_record& record = request.swarm->peers()[p];
    if (place_of(made.chosen, record.peer).stage < made.chosen.stages.size()) continue;
    idle_peer one{record.peer, std::string(enough_without)};
    if (record.rate == speed{}) {
      one.why = "it has not measured its speed yet";
    } else if (idle.size() < limits::idle_explained_max) {
      one.why = why_idle(places, request, made, p);
    }
    idle.push_back(std::move(one));
  }
  return idle;
}

step_parts parts_of(const fleet_request& request, const fleet_plan& made) {
  const auto free =
      simulate_step({request.model, request.swarm, record::totals, links::free}, made.chosen);
  step_parts parts;
  parts.compute = made.step.slowest_busy;
  parts.links = std::max(duration{}, made.step.passes - free.passes);
  parts.warm_up = made.step.passes - parts.links - parts.compute;
  parts.reduction = made.step.reduction;
  parts.update = made.step.update;
  return parts;
}

explanation explain(const fleet_request& request, const fleet_plan& made,
                    const fleet_description& described) {
  explanation e;
  e.binding = binding_text(parts_of(request, made), made);
  const outline cut = outline_of(*request.swarm, made.chosen);
  for (std::size_t s = 1; s < cut.size(); ++s) e.cuts.push_back(cut_text(request, made, cut, s));
  e.idle = idle_in(request, made);
  e.gains = gains_of(request, made, described);
  return e;
}

}  // namespace perigee::planner
