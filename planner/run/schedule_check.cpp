#include "planner/run/schedule_check.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>

namespace perigee::planner {

namespace {

std::string name_of(const plan& p, const lane_program& l) {
  return text(p.stages[l.where.stage].group[l.where.index].peer) + " lane " +
         std::to_string(l.lane);
}

error trouble(errc code, const plan& p, const lane_program& l, const std::string& what) {
  return {code, "schedule of " + name_of(p, l) + " " + what};
}

result<void> check_once(const plan& p, const model_profile& model, const lane_program& l) {
  const member& self = p.stages[l.where.stage].group[l.where.index];
  const auto own = micro_batches_in(model, slices_of_lane(self, l.lane));
  enum class seen : std::uint8_t { nothing, forward, both };
  std::vector<seen> of(own.count, seen::nothing);
  for (const lane_action& a : l.actions) {
    const std::string m = std::to_string(a.micro_batch);
    if (a.micro_batch < own.first || a.micro_batch - own.first >= own.count)
      return trouble(errc::malformed, p, l, "has micro-batch " + m + ", which is not its own");
    seen& state = of[a.micro_batch - own.first];
    if (a.what == pass::forward) {
      if (state != seen::nothing)
        return trouble(errc::malformed, p, l, "has two forward passes of micro-batch " + m);
      state = seen::forward;
      continue;
    }
    if (state == seen::both)
      return trouble(errc::malformed, p, l, "has two backward passes of micro-batch " + m);
    if (state == seen::nothing)
      return trouble(errc::malformed, p, l, "has micro-batch " + m + " backward before forward");
    state = seen::both;
  }
  for (std::uint32_t i = 0; i < own.count; ++i)
    if (of[i] != seen::both)
      return trouble(errc::malformed, p, l,
                     "does not finish micro-batch " + std::to_string(own.first + i));
  return {};
}

/// Runs all lanes together, a lane as far as it gets, until nothing moves.
class rehearsal {
public:
  rehearsal(const plan& p, const model_profile& model, const std::vector<lane_program>& programs)
      : plan_(p),
        programs_(programs),
        micro_batches_(model.micro_batch_count),
        next_(programs.size(), 0),
        lane_of_(p.stages.size() * model.micro_batch_count, programs.size()),
        forward_(lane_of_.size(), false),
        backward_(lane_of_.size(), false) {
    for (std::size_t i = 0; i < programs.size(); ++i) {
      for (const lane_action& a : programs[i].actions)
        lane_of_[at(programs[i].where.stage, a.micro_batch)] = i;
      waiting_.push_back(i);
    }
  }

  result<void> run() {
    while (!waiting_.empty()) {
      const std::size_t lane = waiting_.front();
      waiting_.pop_front();
      while (advance(lane)) {}
    }
    for (std::size_t i = 0; i < programs_.size(); ++i)
      if (next_[i] < programs_[i].actions.size()) return stuck(i);
    return {};
  }

private:
  std::size_t at(std::size_t stage, std::uint32_t micro_batch) const {
    return stage * micro_batches_ + micro_batch;
  }

  bool ready(std::size_t stage, const lane_action& a) const {
    if (a.what == pass::forward) return stage == 0 || forward_[at(stage - 1, a.micro_batch)];
    return stage + 1 == plan_.stages.size() || backward_[at(stage + 1, a.micro_batch)];
  }

  bool advance(std::size_t lane) {
    const lane_program& l = programs_[lane];
    if (next_[lane] == l.actions.size()) return false;
    const lane_action& a = l.actions[next_[lane]];
    const std::size_t stage = l.where.stage;
    if (!ready(stage, a)) return false;
    ++next_[lane];
    if (a.what == pass::forward) {
      forward_[at(stage, a.micro_batch)] = true;
      if (stage + 1 < plan_.stages.size()) wake(at(stage + 1, a.micro_batch));
    } else {
      backward_[at(stage, a.micro_batch)] = true;
      if (stage > 0) wake(at(stage - 1, a.micro_batch));
    }
    return true;
  }

  void wake(std::size_t where) {
    if (lane_of_[where] < programs_.size()) waiting_.push_back(lane_of_[where]);
  }

  error stuck(std::size_t lane) const {
    const lane_program& l = programs_[lane];
    const lane_action& a = l.actions[next_[lane]];
    return trouble(errc::infeasible, plan_, l,
                   "deadlocks: " + std::string(a.what == pass::forward ? "forward " : "backward ") +
                       std::to_string(a.micro_batch) + " waits for ever");
  }

  const plan& plan_;
  const std::vector<lane_program>& programs_;
  std::size_t micro_batches_;
  std::vector<std::size_t> next_;
  std::vector<std::size_t> lane_of_;  // [stage][micro-batch]
  std::vector<bool> forward_;         // done, [stage][micro-batch]
  std::vector<bool> backward_;
  std::deque<std::size_t> waiting_;
};

}  // namespace

std::vector<lane_program> programs_of(const plan& p, const model_profile& model) {
  std::vector<lane_program> programs;
  for (std::uint32_t s = 0; s < p.stages.size(); ++s)
    for (std::uint32_t i = 0; i < p.stages[s].group.size(); ++i)
      for (std::uint32_t lane = 0; lane < lane_count(p.stages[s].group[i]); ++lane)
        programs.push_back({{s, i}, lane, schedule_of(p, {s, i}, lane, model)});
  return programs;
}

result<void> check_schedules(const plan& p, const model_profile& model,
                             const std::vector<lane_program>& programs) {
  for (const lane_program& l : programs) {
    if (auto once = check_once(p, model, l); !once) return once;
    const std::uint32_t peak = peak_in_flight(l.actions);
    const std::uint32_t allowed = p.stages[l.where.stage].in_flight_max;
    if (peak > allowed)
      return trouble(errc::exhausted, p, l,
                     "holds " + std::to_string(peak) + " micro-batches at once and may hold " +
                         std::to_string(allowed));
  }
  return rehearsal(p, model, programs).run();
}

}  // namespace perigee::planner
