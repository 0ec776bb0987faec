#include "planner/plan/local_search.hpp"

#include "planner/plan/step_simulation.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace perigee::planner {

namespace {

constexpr std::uint32_t divisions_max = 24;  // of two stages, looked at
constexpr std::size_t divisions_offered = 4;
constexpr std::uint32_t shared_members_max = 4;  // of a group whose shares are tried

}  // namespace

outline local_search::improved(outline from) {
  best_ = std::move(from);
  best_time_ = time_of(best_);
  bool better = true;
  while (better && !spent_all()) {
    better = boundaries();
    better = slices() || better;
    better = leaves() || better;
    better = joins() || better;
    better = swaps() || better;
    better = merges() || better;
    better = splits() || better;
    better = groups() || better;
    better = replacements() || better;
    better = moves() || better;
  }
  return best_;
}

duration::rep local_search::time_of(const outline& cut) {
  constexpr auto never = std::numeric_limits<duration::rep>::max();
  ++spent_;
  if (judge_ == judge::room) {
    const auto lack = shortfall_of(*with_.space, cut);
    return lack ? static_cast<duration::rep>((lack->needed - lack->offered).count) : 0;
  }
  if (judge_ == judge::estimate) {
    const auto time = estimate(with_, cut);
    const bool sound = with_.unit == granularity::sample || best_time_ == 0 || time >= best_time_ ||
                       fitted(*with_.space, cut);
    return sound ? time : never;
  }
  const auto p = fitted(*with_.space, cut);
  if (!p) return never;
  spent_ += cut.size() * with_.space->model->micro_batch_count * 2;
  return simulate_step({with_.space->model, with_.space->swarm}, *p).total.count();
}

bool local_search::offer(const outline& changed) {
  const auto time = time_of(changed);
  if (time >= best_time_) return false;
  best_ = changed;
  best_time_ = time;
  return true;
}

bool local_search::offer_divided(outline changed, std::size_t s) {
  outline_stage& front = changed[s];
  outline_stage& back = changed[s + 1];
  const std::uint32_t layers = front.layer_count + back.layer_count;
  const std::uint32_t step = std::max(1U, layers / divisions_max);
  std::vector<std::pair<duration::rep, std::uint32_t>> ranked;
  const auto divide = [&](std::uint32_t count) {
    front.layer_count = count;
    back.layer_first = front.layer_first + count;
    back.layer_count = layers - count;
    pour(front);
    pour(back);
  };
  for (std::uint32_t count = step; count < layers; count += step) {
    divide(count);
    ++spent_;
    if (judge_ == judge::room)
      ranked.emplace_back(time_of(changed), count);
    else if (fitted(*with_.space, changed))
      ranked.emplace_back(estimate(with_, changed), count);
  }
  std::sort(ranked.begin(), ranked.end());
  for (std::size_t i = 0; i < std::min(ranked.size(), divisions_offered) && !spent_all(); ++i) {
    divide(ranked[i].second);
    if (offer(changed) || offer_shared(changed, s) || offer_shared(changed, s + 1)) return true;
  }
  return false;
}

/// Offers a stage with other shares: even ones, and with a slice more for one member from another.
bool local_search::offer_shared(const outline& changed, std::size_t s) {
  const auto& group = changed[s].group;
  const auto size = static_cast<std::uint32_t>(group.size());
  if (size < 2 || size > shared_members_max || spent_all()) return false;
  const std::uint32_t slices = with_.space->model->slice_count;
  outline even = changed;
  for (std::uint32_t m = 0; m < size; ++m)
    even[s].group[m].slices = slices / size + (m < slices % size ? 1 : 0);
  if (even != changed && offer(even)) return true;
  for (std::uint32_t a = 0; a < size; ++a)
    for (std::uint32_t b = 0; b < size && !spent_all(); ++b) {
      if (a == b || group[a].slices <= 1) continue;
      outline other = changed;
      --other[s].group[a].slices;
      ++other[s].group[b].slices;
      if (other != even && offer(other)) return true;
    }
  return false;
}

bool local_search::groups() {
  bool better = false;
  for (std::size_t s = 0; s + 1 < best_.size() && !spent_all(); ++s) {
    outline changed = best_;
    std::swap(changed[s].group, changed[s + 1].group);
    better = offer_divided(std::move(changed), s) || better;
  }
  return better;
}

/// A stage of one peer goes to an idle one, which may do more or less of it.
bool local_search::replacements() {
  for (const std::uint32_t other : idle())
    for (std::size_t s = 0; s < best_.size() && !spent_all(); ++s) {
      if (best_[s].group.size() != 1) continue;
      outline changed = best_;
      changed[s].group.front().peer = other;
      if (offer_beside(changed, s)) return true;
    }
  return false;
}

bool local_search::boundaries() {
  bool better = false;
  for (std::size_t s = 0; s + 1 < best_.size(); ++s)
    for (const std::uint32_t by : {8U, 4U, 2U, 1U})
      for (const bool down : {false, true}) {
        for (bool again = true; again && !spent_all();) {
          outline changed = best_;
          outline_stage& shrinks = down ? changed[s + 1] : changed[s];
          outline_stage& grows = down ? changed[s] : changed[s + 1];
          if (shrinks.layer_count <= by) break;
          shrinks.layer_count -= by;
          grows.layer_count += by;
          changed[s + 1].layer_first = changed[s].layer_first + changed[s].layer_count;
          again = offer(changed);
          better = better || again;
        }
      }
  return better;
}

bool local_search::slices() {
  bool better = false;
  for (std::size_t s = 0; s < best_.size(); ++s)
    for (std::size_t a = 0; a < best_[s].group.size(); ++a)
      for (std::size_t b = 0; b < best_[s].group.size() && !spent_all(); ++b) {
        if (a == b || best_[s].group[a].slices <= 1) continue;
        outline changed = best_;
        --changed[s].group[a].slices;
        ++changed[s].group[b].slices;
        better = offer(changed) || better;
      }
  for (std::size_t s = 0; s < best_.size(); ++s)
    for (std::size_t m = 0; m + 1 < best_[s].group.size() && !spent_all(); ++m) {
      outline changed = best_;
      std::swap(changed[s].group[m], changed[s].group[m + 1]);
      better = offer(changed) || better;
    }
  return better;
}

bool local_search::swaps() {
  bool better = false;
  const auto spare = idle();
  // Peers of one speed on uniform links are all the same here.
  const bool alike = with_.space->swarm->uniform();
  for (std::size_t s = 0; s < best_.size(); ++s)
    for (std::size_t m = 0; m < best_[s].group.size(); ++m) {
      for (std::size_t t = s + 1; t < best_.size(); ++t)
        for (std::size_t k = 0; k < best_[t].group.size() && !spent_all(); ++k) {
          if (m >= best_[s].group.size()) break;
          const auto a = best_[s].group[m].peer;
          const auto b = best_[t].group[k].peer;
          if (alike && with_.sums->class_of(a) == with_.sums->class_of(b)) continue;
          outline changed = best_;
          std::swap(changed[s].group[m].peer, changed[t].group[k].peer);
          pour(changed[s]);
          pour(changed[t]);
          better = offer(changed) || offer_shared(changed, s) || offer_shared(changed, t) || better;
        }
      for (const std::uint32_t other : spare) {
        if (spent_all()) return better;
        outline changed = best_;
        changed[s].group[m].peer = other;
        pour(changed[s]);
        if (offer(changed) || offer_shared(changed, s)) return true;  // who is idle has changed
      }
    }
  return better;
}

bool local_search::joins() {
  for (const std::uint32_t other : idle())
    for (std::size_t s = 0; s < best_.size() && !spent_all(); ++s) {
      if (best_[s].group.size() >= with_.space->model->slice_count) continue;
      outline changed = best_;
      changed[s].group.push_back({other, 1});
      pour(changed[s]);
      if (offer(changed) || offer_shared(changed, s) || offer_beside(changed, s)) return true;
    }
  return false;
}

/// Offers the divisions between a stage and each neighbour.
bool local_search::offer_beside(const outline& changed, std::size_t s) {
  if (s > 0 && offer_divided(changed, s - 1)) return true;
  return s + 1 < changed.size() && offer_divided(changed, s);
}

/// A member goes to a neighbouring stage.
bool local_search::moves() {
  for (std::size_t s = 0; s < best_.size(); ++s)
    for (const bool down : {false, true}) {
      if (down ? s == 0 : s + 1 == best_.size()) continue;
      const std::size_t to = down ? s - 1 : s + 1;
      if (best_[s].group.size() < 2) continue;
      if (best_[to].group.size() >= with_.space->model->slice_count) continue;
      for (std::size_t m = 0; m < best_[s].group.size() && !spent_all(); ++m) {
        outline changed = best_;
        changed[to].group.push_back({changed[s].group[m].peer, 1});
        changed[s].group.erase(changed[s].group.begin() + static_cast<std::ptrdiff_t>(m));
        if (offer_divided(std::move(changed), std::min(s, to))) return true;
      }
    }
  return false;
}

bool local_search::leaves() {
  bool better = false;
  for (std::size_t s = 0; s < best_.size(); ++s)
    for (std::size_t m = 0; m < best_[s].group.size() && !spent_all(); ++m) {
      if (best_[s].group.size() < 2) break;
      outline changed = best_;
      changed[s].group.erase(changed[s].group.begin() + static_cast<std::ptrdiff_t>(m));
      pour(changed[s]);
      better = offer(changed) || better;
    }
  return better;
}

bool local_search::merges() {
  bool better = false;
  for (std::size_t s = 0; s + 1 < best_.size() && !spent_all(); ++s)
    for (int keep = 0; keep < 3 && s + 1 < best_.size(); ++keep) {
      outline changed = best_;
      outline_stage& first = changed[s];
      first.layer_count += changed[s + 1].layer_count;
      if (keep == 1) first.group = changed[s + 1].group;
      if (keep == 2)
        first.group.insert(first.group.end(), changed[s + 1].group.begin(),
                           changed[s + 1].group.end());
      if (first.group.size() > with_.space->model->slice_count) continue;
      changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(s) + 1);
      pour(changed[s]);
      better = offer(changed) || better;
    }
  return better;
}

bool local_search::splits() {
  const auto spare = idle();
  for (std::size_t s = 0; s < best_.size(); ++s) {
    if (best_[s].layer_count < 2) continue;
    const auto divided = [&](std::vector<part> front, std::vector<part> back) {
      outline changed = best_;
      outline_stage second = changed[s];
      changed[s].layer_count = 1;  // where it is cut is decided below
      changed[s].group = std::move(front);
      second.group = std::move(back);
      second.layer_count = best_[s].layer_count - 1;
      changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(s) + 1, std::move(second));
      return offer_divided(std::move(changed), s);
    };
    const std::vector<part> own = best_[s].group;
    for (std::size_t i = 0; i < spare.size() && !spent_all(); ++i)
      if (divided(own, {{spare[i], 1}}) || divided({{spare[i], 1}}, own)) return true;
    // All that idle, if they are few: one of them alone may only have been in the way.
    std::vector<part> together;
    for (const std::uint32_t other : spare) together.push_back({other, 1});
    const bool few = together.size() > 1 && together.size() <= with_.space->model->slice_count;
    if (few && !spent_all() && (divided(own, together) || divided(together, own))) return true;
    for (std::size_t i = 0; few && i < together.size() && together.size() > 2; ++i)
      for (std::size_t j = i + 1; j < together.size() && !spent_all(); ++j)
        if (divided(own, {together[i], together[j]}) || divided({together[i], together[j]}, own))
          return true;
    const auto half = own.begin() + static_cast<std::ptrdiff_t>(own.size() / 2);
    if (own.size() < 2 || spent_all()) continue;
    const std::vector<part> low(own.begin(), half);
    const std::vector<part> high(half, own.end());
    if (divided(low, high) || divided(high, low)) return true;
  }
  return false;
}

void local_search::pour(outline_stage& s) const {
  std::sort(s.group.begin(), s.group.end());
  std::vector<std::uint32_t> peers;
  for (const part& who : s.group) peers.push_back(who.peer);
  const auto shares = shares_of(with_, {s.layer_first, s.layer_first + s.layer_count}, peers);
  for (std::size_t m = 0; m < peers.size(); ++m) s.group[m].slices = shares[m];
}

std::vector<std::uint32_t> local_search::idle() const {
  std::vector<char> taken(with_.space->swarm->size());
  for (const outline_stage& s : best_)
    for (const part& who : s.group) taken[who.peer] = 1;
  // Of peers that are alike in all a plan can see, one is enough.
  std::vector<std::uint32_t> spare;
  std::map<std::size_t, std::uint32_t> seen;
  for (std::uint32_t p = 0; p < taken.size(); ++p) {
    const auto& peers = with_.space->swarm->peers();
    if (taken[p] != 0) continue;
    const auto [at, fresh] = seen.emplace(with_.sums->class_of(p), p);
    const bool alike = with_.space->swarm->uniform() && !fresh &&
                       peers[at->second].memory_offer >= peers[p].memory_offer &&
                       peers[at->second].workers == peers[p].workers;
    if (!alike) spare.push_back(p);
  }
  return spare;
}

}  // namespace perigee::planner
