#include "planner/run/commits.hpp"

#include <algorithm>

namespace perigee::planner {

commits::commits(const stage_place& where, std::uint64_t step) : where_(where), committed_(step) {}

commits::open_step* commits::at(std::uint64_t step) {
  if (step < committed_ || step - committed_ > ahead_max) return nullptr;
  open_step& s = open_[step];
  s.measured.resize(where_.whole.stages.size());
  s.states.resize(where_.whole.stages.size());
  s.group.resize(where_.own_stage().group.size());
  return &s;
}

void commits::note_measured(const measurement& m) {
  open_step* s = at(m.step);
  if (s == nullptr || m.stage >= s->measured.size() || s->measured[m.stage]) return;
  s->measured[m.stage] = m;
}

std::optional<std::uint32_t> commits::unmeasured(std::uint64_t step) const {
  const auto found = open_.find(step);
  if (found == open_.end()) return 0;
  const auto& all = found->second.measured;
  const auto none = std::find(all.begin(), all.end(), std::nullopt);
  if (none == all.end()) return std::nullopt;
  return static_cast<std::uint32_t>(none - all.begin());
}

std::optional<std::vector<std::uint64_t>> commits::values(std::uint64_t step) const {
  if (unmeasured(step)) return std::nullopt;
  std::vector<std::uint64_t> all;
  for (const auto& m : open_.at(step).measured) {
    if (!m->finite) return std::nullopt;
    all.insert(all.end(), m->values.begin(), m->values.end());
  }
  return all;
}

void commits::note_applied(std::uint64_t done, std::vector<digest128> states) {
  open_step* s = at(done - 1);
  if (s == nullptr) return;
  s->group[where_.where.index] = std::move(states);
  compare(done - 1, *s);
}

void commits::note_report(peer_id from, const state_report& r) {
  open_step* s = r.step == 0 ? nullptr : at(r.step - 1);
  if (s == nullptr) return;
  const place sender = place_of(where_.whole, from);
  if (sender.stage >= where_.whole.stages.size()) return;
  const stage& of = where_.whole.stages[sender.stage];
  if (r.layer_first != of.layer_first || r.states.size() != of.layer_count) return;
  if (sender.index == 0 && from != where_.own().peer) {
    if (!s->states[sender.stage]) s->states[sender.stage] = r.states;
    complete();
  } else if (where_.first_member() && sender.stage == where_.where.stage) {
    if (!s->group[sender.index]) s->group[sender.index] = r.states;
    compare(r.step - 1, *s);
  }
}

/// The speaker's part: once all members of its group have told, their states are the stage's.
void commits::compare(std::uint64_t step, open_step& s) {
  if (!where_.first_member() || s.states[where_.where.stage]) return;
  if (std::find(s.group.begin(), s.group.end(), std::nullopt) != s.group.end()) return;
  const auto& own = *s.group.front();
  for (std::size_t m = 1; m < s.group.size(); ++m) {
    for (std::size_t i = 0; i < own.size(); ++i) {
      if ((*s.group[m])[i] == own[i] || mismatch_) continue;
      const auto& group = where_.own_stage().group;
      mismatch_ = error{errc::malformed,
                        "layer " + std::to_string(where_.own_stage().layer_first + i) +
                            " differs between " + text(group[0].peer) + " and " +
                            text(group[m].peer) + " after step " + std::to_string(step + 1)};
    }
  }
  if (mismatch_) return;
  s.states[where_.where.stage] = own;
  complete();
}

std::optional<state_report> commits::due_report() {
  for (auto& [step, s] : open_) {
    const states_of& own =
        where_.first_member() ? s.states[where_.where.stage] : s.group[where_.where.index];
    if (s.told || !own) continue;
    s.told = true;
    const state_report report{where_.whole.job, where_.whole.epoch, step + 1,
                              where_.own_stage().layer_first, *own};
    complete();
    return report;
  }
  return std::nullopt;
}

/// A record is complete when all stages have told and this peer itself has been through the step.
void commits::complete() {
  for (auto first = open_.begin(); first != open_.end() && first->first == committed_;
       first = open_.begin()) {
    open_step& s = first->second;
    const bool all =
        std::find(s.states.begin(), s.states.end(), std::nullopt) == s.states.end() &&
        std::find(s.measured.begin(), s.measured.end(), std::nullopt) == s.measured.end();
    if (!all || !s.group[where_.where.index] || !s.told) return;
    ++committed_;
    last_ = {
        where_.whole.job, where_.whole.epoch, committed_, 0, 0, where_.model.micro_batch_count, {}};
    last_.loss_bits = s.measured.back()->loss_bits;
    last_.counted = s.measured.back()->counted;
    for (const states_of& stage : s.states)
      last_.states.insert(last_.states.end(), stage->begin(), stage->end());
    open_.erase(first);
  }
}

peer_id commits::unreported() const {
  const auto first = open_.find(committed_);
  if (first == open_.end()) return where_.speaker(0);
  const auto& group = where_.own_stage().group;
  for (std::size_t m = 1; where_.first_member() && m < group.size(); ++m)
    if (!first->second.group[m]) return group[m].peer;
  for (std::size_t s = 0; s < where_.whole.stages.size(); ++s)
    if (!first->second.states[s]) return where_.speaker(s);
  return {};
}

bool commits::has_told(const place& who, std::uint64_t done) const {
  if (done <= committed_) return true;
  const auto found = open_.find(done - 1);
  if (found == open_.end()) return false;
  if (who.index == 0) return found->second.states[who.stage].has_value();
  const bool to_this = where_.first_member() && who.stage == where_.where.stage;
  return !to_this || found->second.group[who.index].has_value();
}

}  // namespace perigee::planner
