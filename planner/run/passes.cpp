#include "planner/run/passes.hpp"

#include "proto/base/check.hpp"

#include <algorithm>

namespace perigee::planner {

passes::passes(const stage_place& where) : where_(where) {
  for (std::uint32_t lane = 0; lane < perigee::lane_count(where.own()); ++lane)
    lanes_.push_back({schedule_of(where.whole, where.where, lane, where.model), 0, 0, 0});
}

void passes::begin(std::uint64_t step) {
  step_ = step;
  for (lane_state& l : lanes_) l.next = l.computed = 0;
  std::erase_if(here_, [&](const tensor_ref& ref) { return ref.step < step; });
}

bool passes::note_arrived(const tensor_ref& what) { return here_.insert(what).second; }

std::optional<tensor_ref> passes::note_computed(const task& what) {
  const auto at = slots_.find({what.step, what.index});
  CHECK(at != slots_.end());
  ++lanes_[at->second.lane].computed;
  std::optional<tensor_ref> leaving;
  if (what.kind == task_kind::forward && !where_.last_stage())
    leaving = {tensor_kind::activation, what.step, where_.layer_end(), what.index};
  if (what.kind == task_kind::backward && !where_.first_stage())
    leaving = {tensor_kind::activation_gradient, what.step, where_.own_stage().layer_first,
               what.index};
  if (leaving) at->second.leaving.insert(*leaving);
  if (what.kind == task_kind::backward) at->second.backward_done = true;
  free_if_done(at);
  return leaving;
}

void passes::note_transmitted(const tensor_ref& what) {
  const auto at = slots_.find({what.step, what.index});
  if (at == slots_.end() || at->second.leaving.erase(what) == 0) return;
  free_if_done(at);
}

void passes::free_if_done(std::map<slot_key, slot>::iterator at) {
  if (!at->second.backward_done || !at->second.leaving.empty()) return;
  --lanes_[at->second.lane].slots_used;
  slots_.erase(at);
}

std::optional<tensor_ref> passes::input_of(const lane_action& a) const {
  if (a.what == pass::forward) {
    if (where_.first_stage()) return std::nullopt;
    return tensor_ref{tensor_kind::activation, step_, where_.own_stage().layer_first,
                      a.micro_batch};
  }
  if (where_.last_stage()) return std::nullopt;
  return tensor_ref{tensor_kind::activation_gradient, step_, where_.layer_end(), a.micro_batch};
}

std::optional<tensor_ref> passes::lack(std::uint32_t lane) const {
  const lane_state& l = lanes_[lane];
  if (l.next == l.actions.size()) return std::nullopt;
  const lane_action& a = l.actions[l.next];
  if (const auto input = input_of(a); input && !here_.contains(*input)) return input;
  const std::uint32_t slots = where_.own_stage().in_flight_max + 1;
  if (a.what == pass::backward || l.slots_used < slots) return std::nullopt;
  for (const auto& [key, s] : slots_)
    if (s.lane == lane && s.backward_done && !s.leaving.empty()) return *s.leaving.begin();
  return std::nullopt;  // unreachable for a checked schedule: it holds in_flight_max at most
}

std::optional<task> passes::take(std::uint32_t lane) {
  lane_state& l = lanes_[lane];
  if (l.next == l.actions.size() || lack(lane)) return std::nullopt;
  const lane_action& a = l.actions[l.next++];
  if (a.what == pass::forward) {
    ++l.slots_used;
    slots_[{step_, a.micro_batch}].lane = lane;
    return task{task_kind::forward, step_, a.micro_batch, {}};
  }
  return task{task_kind::backward, step_, a.micro_batch, {}};
}

bool passes::done() const {
  return std::all_of(lanes_.begin(), lanes_.end(),
                     [](const lane_state& l) { return l.computed == l.actions.size(); });
}

}  // namespace perigee::planner
