#include "planner/plan/repair.hpp"

#include "planner/plan/layer_sums.hpp"

#include <algorithm>
#include <limits>

namespace perigee::planner {

namespace {

using rep = duration::rep;

constexpr std::size_t spares_max = 4;  // idle peers that are tried

class mending {
public:
  mending(const estimator& with, const outline& before, std::uint32_t gone)
      : with_(with), before_(before), gone_(gone) {}

  std::optional<outline> best() {
    for (hole_ = 0; hole_ < before_.size(); ++hole_) {
      auto& group = before_[hole_].group;
      const auto at = std::find_if(group.begin(), group.end(),
                                   [this](const part& who) { return who.peer == gone_; });
      if (at != group.end()) {
        mend(static_cast<std::size_t>(at - group.begin()));
        break;
      }
    }
    if (hole_ == before_.size()) return before_;
    if (best_.empty()) return std::nullopt;
    move_boundaries();
    return best_;
  }

private:
  void mend(std::size_t index) {
    outline without = before_;
    auto& group = without[hole_].group;
    group.erase(group.begin() + static_cast<std::ptrdiff_t>(index));
    if (!group.empty()) {
      pour(without[hole_]);
      offer(without);
    } else {
      give_away(true);
      give_away(false);
      halve();
    }
    for (const std::uint32_t spare : spares()) {
      outline filled = without;
      filled[hole_].group.push_back({spare, 1});
      pour(filled[hole_]);
      offer(filled);
    }
  }

  /// Lets the stage before or behind take all layers.
  void give_away(bool to_before) {
    if (to_before ? hole_ == 0 : hole_ + 1 == before_.size()) return;
    outline changed = before_;
    outline_stage& taker = changed[to_before ? hole_ - 1 : hole_ + 1];
    if (!to_before) taker.layer_first = changed[hole_].layer_first;
    taker.layer_count += changed[hole_].layer_count;
    pour(taker);
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(hole_));
    offer(changed);
  }

  void halve() {
    if (hole_ == 0 || hole_ + 1 == before_.size() || before_[hole_].layer_count < 2) return;
    outline changed = before_;
    const std::uint32_t half = changed[hole_].layer_count / 2;
    changed[hole_ - 1].layer_count += half;
    changed[hole_ + 1].layer_first -= changed[hole_].layer_count - half;
    changed[hole_ + 1].layer_count += changed[hole_].layer_count - half;
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(hole_));
    offer(changed);
  }

  void move_boundaries() {
    const std::size_t from = hole_ < 2 ? 0 : hole_ - 2;
    for (std::size_t s = from; s + 1 < best_.size() && s < hole_ + 2; ++s)
      for (const std::uint32_t by : {8U, 4U, 2U, 1U})
        for (const bool down : {false, true}) {
          outline changed = best_;
          outline_stage& shrinks = down ? changed[s + 1] : changed[s];
          outline_stage& grows = down ? changed[s] : changed[s + 1];
          if (shrinks.layer_count <= by) continue;
          shrinks.layer_count -= by;
          grows.layer_count += by;
          changed[s + 1].layer_first = changed[s].layer_first + changed[s].layer_count;
          offer(changed);
        }
  }

  void offer(const outline& changed) {
    const rep time = estimate(with_, changed);
    if (time >= best_time_ || !fitted(*with_.space, changed)) return;
    best_time_ = time;
    best_ = changed;
  }

  void pour(outline_stage& s) const {
    std::sort(s.group.begin(), s.group.end());
    std::vector<std::uint32_t> peers;
    for (const part& who : s.group) peers.push_back(who.peer);
    const auto shares = shares_of(with_, {s.layer_first, s.layer_first + s.layer_count}, peers);
    for (std::size_t m = 0; m < peers.size(); ++m) s.group[m].slices = shares[m];
  }

  /// Returns the fastest idle peers, lower ids first among equals.
  std::vector<std::uint32_t> spares() const {
    std::vector<char> taken(with_.space->swarm->size());
    taken[gone_] = 1;
    for (const outline_stage& s : before_)
      for (const part& who : s.group) taken[who.peer] = 1;
    std::vector<std::uint32_t> idle;
    for (std::uint32_t p = 0; p < taken.size(); ++p)
      if (taken[p] == 0 && with_.space->swarm->peers()[p].rate != speed{}) idle.push_back(p);
    const layer_range all{0, with_.sums->layers()};
    const auto count = std::min(spares_max, idle.size());
    std::partial_sort(idle.begin(), idle.begin() + static_cast<std::ptrdiff_t>(count), idle.end(),
                      [&](std::uint32_t a, std::uint32_t b) {
                        const auto left = with_.sums->pass(a, all);
                        const auto right = with_.sums->pass(b, all);
                        return left != right ? left < right : a < b;
                      });
    idle.resize(count);
    return idle;
  }

  const estimator& with_;
  outline before_;
  std::uint32_t gone_;
  std::size_t hole_ = 0;
  outline best_;
  rep best_time_ = std::numeric_limits<rep>::max();
};

}  // namespace

std::optional<outline> repaired(const estimator& with, const outline& before, std::uint32_t gone) {
  return mending(with, before, gone).best();
}

result<replanned> replan_without(const fleet_request& request, const plan& before, peer_id gone) {
  std::vector<std::uint32_t> left;
  for (std::uint32_t p = 0; p < request.swarm->size(); ++p)
    if (request.swarm->peers()[p].peer != gone) left.push_back(p);
  const fleet others = request.swarm->only(left);
  fleet_request narrower = request;
  narrower.swarm = &others;
  const auto full = plan_fleet(narrower);
  const planning_space space{request.model, request.swarm, request.wanted->schedule};
  const layer_sums sums(space);
  const estimator with{&space, &sums, granularity::slice, 0};
  const auto mended =
      repaired(with, outline_of(*request.swarm, before), request.swarm->position_of(gone));
  const auto p = mended ? fitted(space, *mended) : std::nullopt;
  if (!p) {
    if (!full) return full.why();
    return replanned{full->chosen, full->step.total, false};
  }
  const duration step = simulate_step({request.model, request.swarm}, *p).total;
  if (full && step > full->step.total / 10 * 11)
    return replanned{full->chosen, full->step.total, false};
  replanned kept{*p, step, true};
  kept.chosen.job = request.job;
  kept.chosen.predicted_step = step;
  return kept;
}

}  // namespace perigee::planner
