#include "planner/plan/checkpoint.hpp"

#include "proto/base/check.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace perigee::planner {

namespace {

using rep = duration::rep;
constexpr rep never = std::numeric_limits<rep>::max();

}  // namespace

checkpoint_table::checkpoint_table(std::vector<chain_layer> layers, bytes most, std::uint32_t slots)
    : layers_(std::move(layers)),
      slot_(std::max<std::uint64_t>((most.count + slots - 1) / std::max(slots, 1U), 1)),
      slots_(slots) {
  CHECK(!layers_.empty() && slots > 0);
  forward_ = {0};
  for (const chain_layer& layer : layers_)
    forward_.push_back(forward_.back() + layer.forward.count());
  const auto count = static_cast<std::uint32_t>(layers_.size());
  best_.assign(std::size_t{slots_ + 1} * count * count, never);
  choice_.assign(best_.size(), 0);
  for (std::uint32_t length = 0; length < count; ++length)
    for (std::uint32_t first = 0; first + length < count; ++first)
      for (std::uint32_t m = 0; m <= slots_; ++m) fill(m, {first, first + length});
}

std::uint32_t checkpoint_table::slots_of(bytes size) const {
  const std::uint64_t slots = (size.count + slot_ - 1) / slot_;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(slots, slots_ + 1));
}

std::uint32_t checkpoint_table::whole_slots(bytes budget) const {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(budget.count / slot_, slots_));
}

std::size_t checkpoint_table::at(std::uint32_t m, const range& r) const {
  return (std::size_t{m} * layers_.size() + r.first) * layers_.size() + r.last;
}

/// Returns what running forward through a range, keeping nothing, asks for.
std::uint32_t checkpoint_table::least_for(const range& r) const {
  const chain_layer& first = layers_[r.first];
  const std::uint32_t gradient = slots_of(layers_[r.last].output);
  std::uint32_t most = gradient + slots_of(first.output) + slots_of(first.transient);
  for (std::uint32_t k = r.first + 1; k < r.last; ++k)
    most = std::max(most, gradient + slots_of(layers_[k].input) + slots_of(layers_[k].output) +
                              slots_of(layers_[k].transient));
  return most;
}

void checkpoint_table::fill(std::uint32_t m, const range& r) {
  const chain_layer& first = layers_[r.first];
  rep& best = best_[at(m, r)];
  const std::uint32_t saved = slots_of(first.saved);
  if (r.first == r.last) {
    if (m < slots_of(first.output) + saved + slots_of(first.transient)) return;
    best = (first.forward + first.backward).count();
    choice_[at(m, r)] = r.first;
    return;
  }
  if (m < least_for(r)) return;
  const rep alone = best_[at(m, {r.first, r.first})];
  if (m >= saved && alone != never) {
    const rep rest = best_[at(m - saved, {r.first + 1, r.last})];
    if (rest != never) {
      best = alone + rest;
      choice_[at(m, r)] = r.first;
    }
  }
  for (std::uint32_t k = r.first + 1; k <= r.last; ++k) {
    const std::uint32_t input = slots_of(layers_[k].input);
    if (m < input) continue;
    const rep behind = best_[at(m - input, {k, r.last})];
    const rep again = best_[at(m, {r.first, k - 1})];
    if (behind == never || again == never) continue;
    const rep made = forward_[k] - forward_[r.first] + behind + again;
    if (made >= best) continue;
    best = made;
    choice_[at(m, r)] = k;
  }
}

std::optional<duration> checkpoint_table::time(bytes budget) const {
  const range whole{0, static_cast<std::uint32_t>(layers_.size()) - 1};
  const rep best = best_[at(whole_slots(budget), whole)];
  if (best == never) return std::nullopt;
  return duration{best};
}

std::optional<std::vector<chain_action>> checkpoint_table::sequence(bytes budget) const {
  if (!time(budget)) return std::nullopt;
  std::vector<chain_action> actions;
  trace(whole_slots(budget), {0, static_cast<std::uint32_t>(layers_.size()) - 1}, actions);
  return actions;
}

void checkpoint_table::trace(std::uint32_t m, const range& r,
                             std::vector<chain_action>& into) const {
  const std::uint32_t k = choice_[at(m, r)];
  if (k == r.first) {
    into.push_back({chain_pass::forward_all, r.first});
    if (r.first < r.last) trace(m - slots_of(layers_[r.first].saved), {r.first + 1, r.last}, into);
    into.push_back({chain_pass::backward, r.first});
    return;
  }
  into.push_back({chain_pass::forward_input, r.first});
  for (std::uint32_t l = r.first + 1; l < k; ++l) into.push_back({chain_pass::forward_only, l});
  trace(m - slots_of(layers_[k].input), {k, r.last}, into);
  trace(m, {r.first, k - 1}, into);
}

std::optional<bytes> checkpoint_table::least() const {
  const range whole{0, static_cast<std::uint32_t>(layers_.size()) - 1};
  for (std::uint32_t m = 0; m <= slots_; ++m)
    if (best_[at(m, whole)] != never) return bytes{m * slot_};
  return std::nullopt;
}

}  // namespace perigee::planner
