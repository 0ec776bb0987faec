#include "planner/plan/step_simulation.hpp"

#include "planner/run/schedule_check.hpp"
#include "proto/base/check.hpp"
#include "proto/stage_memory.hpp"

#include <algorithm>
#include <map>
#include <queue>
#include <utility>

namespace perigee::planner {

namespace {

using rep = duration::rep;

/// A member of a group at work.
struct worker_state {
  std::uint32_t position = 0;  // in the fleet
  rep forward = 0;
  rep backward = 0;
  rep busy_most = 0;
  rep sending = 0;
  std::uint32_t slots_now = 0;
  std::uint32_t slots_peak = 0;
  std::uint32_t inputs_now = 0;
  std::uint32_t inputs_peak = 0;
};

struct lane_state {
  std::uint32_t stage = 0;
  std::uint32_t member = 0;  // in `members_`
  std::uint32_t lane = 0;
  std::uint32_t slots = 0;
  std::uint32_t used = 0;
  std::size_t next = 0;
  bool running = false;
  rep busy = 0;
  rep first = -1;
  lane_schedule actions;
};

enum class happening : std::uint8_t { finished, arrived, left };

struct occurrence {
  rep when = 0;
  std::uint64_t order = 0;
  happening what{};
  std::uint32_t lane = 0;
  lane_action action;
  friend bool operator>(const occurrence& a, const occurrence& b) {
    return std::pair{a.when, a.order} > std::pair{b.when, b.order};
  }
};

class simulation {
public:
  simulation(const simulation_request& of, const plan& p) : of_(of), model_(*of.model), p_(p) {
    set_up();
    for (std::uint32_t l = 0; l < lanes_.size(); ++l) start(l, 0);
    while (!queue_.empty()) {
      const occurrence now = queue_.top();
      queue_.pop();
      on(now);
    }
    for (const lane_state& lane : lanes_) CHECK(lane.next == lane.actions.size());
  }

  step_report report() {
    step_report r;
    r.spans = std::move(spans_);
    rep reduced = 0;
    for (std::size_t s = 0; s < p_.stages.size(); ++s) {
      r.passes = std::max(r.passes, duration{stage_end_[s]});
      reduced = std::max(reduced, stage_end_[s] + reduction_of(p_.stages[s]).count());
    }
    r.reduction = duration{reduced} - r.passes;
    for (const lane_state& lane : lanes_) {
      worker_state& who = members_[lane.member];
      who.busy_most = std::max(who.busy_most, lane.busy);
      if (lane.busy <= r.slowest_busy.count()) continue;
      r.slowest_busy = duration{lane.busy};
      r.slowest_stage = lane.stage;
      r.warm_up = duration{std::max<rep>(lane.first, 0)};
    }
    add_uses(r);
    r.total = duration{reduced} + r.update;
    return r;
  }

private:
  void set_up() {
    first_member_.resize(p_.stages.size());
    stage_end_.resize(p_.stages.size());
    for (std::size_t s = 0; s < p_.stages.size(); ++s) {
      first_member_[s] = static_cast<std::uint32_t>(members_.size());
      for (const member& who : p_.stages[s].group) add_member(p_.stages[s], who);
    }
    const std::size_t batches = model_.micro_batch_count;
    lane_of_.assign(p_.stages.size() * batches, 0);
    arrived_.assign(p_.stages.size() * batches * 2, 0);
    for (lane_program& program : programs_of(p_, model_)) {
      const auto index = static_cast<std::uint32_t>(lanes_.size());
      const auto stage = program.where.stage;
      for (const lane_action& a : program.actions)
        lane_of_[stage * batches + a.micro_batch] = index;
      lane_state lane;
      lane.stage = stage;
      lane.member = first_member_[stage] + program.where.index;
      lane.lane = program.lane;
      lane.slots = slots_of_lane(model_, p_.stages[stage],
                                 p_.stages[stage].group[program.where.index], program.lane);
      lane.actions = std::move(program.actions);
      lanes_.push_back(std::move(lane));
    }
  }

  void add_member(const stage& s, const member& who) {
    worker_state state;
    state.position = of_.swarm->position_of(who.peer);
    CHECK(state.position < of_.swarm->size());
    const lane_time pass =
        layers_time(model_, s.layer_first, s.layer_count, of_.swarm->peers()[state.position].rate);
    state.forward = pass.forward.count();
    state.backward = pass.backward.count();
    members_.push_back(state);
  }

  void on(const occurrence& now) {
    lane_state& lane = lanes_[now.lane];
    worker_state& who = members_[lane.member];
    if (now.what == happening::finished) {
      lane.running = false;
      finish(now, lane, who);
    } else if (now.what == happening::arrived) {
      arrived_[arrival(lane.stage, now.action)] = 1;
      if (now.action.what == pass::forward) {
        who.inputs_peak = std::max(who.inputs_peak, ++who.inputs_now);
      }
    } else {
      --lane.used;
      --who.slots_now;
    }
    start(now.lane, now.when);
  }

  void finish(const occurrence& now, lane_state& lane, worker_state& who) {
    stage_end_[lane.stage] = std::max(stage_end_[lane.stage], now.when);
    const bool forward = now.action.what == pass::forward;
    if (forward) {
      if (lane.stage + 1 < p_.stages.size()) send(now, lane.stage + 1);
      return;
    }
    if (lane.stage > 0) {
      --who.inputs_now;
      send(now, lane.stage - 1);
    } else {
      --lane.used;
      --who.slots_now;
    }
  }

  void send(const occurrence& now, std::uint32_t to_stage) {
    const lane_state& lane = lanes_[now.lane];
    const std::uint32_t there =
        lane_of_[std::size_t{to_stage} * model_.micro_batch_count + now.action.micro_batch];
    worker_state& from = members_[lane.member];
    const worker_state& to = members_[lanes_[there].member];
    const link_kind& kind = of_.swarm->between(from.position, to.position);
    const std::uint32_t boundary = p_.stages[std::max(lane.stage, to_stage)].layer_first;
    link_estimate link = kind.link;
    if (of_.over == links::free) link.latency = duration{};
    const rep all = link_time(model_.layers[boundary].input, link).count();
    const rep on_link = of_.over == links::free ? 0 : all - link.latency.count();
    rep& free_at = free_at_[medium_of(from.position, to.position)];
    free_at = std::max(free_at, now.when) + on_link;
    from.sending += on_link;
    if (now.action.what == pass::backward) push(free_at, happening::left, now.lane, now.action);
    push(free_at + link.latency.count(), happening::arrived, there, now.action);
  }

  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> medium_of(std::uint32_t from,
                                                                  std::uint32_t to) const {
    if (of_.swarm->between(from, to).how == sharing::pair) return {from, to};
    return {of_.swarm->size(), of_.swarm->kind_between(from, to)};
  }

  [[nodiscard]] std::size_t arrival(std::uint32_t stage, const lane_action& a) const {
    const std::size_t direction = a.what == pass::forward ? 0 : 1;
    return (std::size_t{stage} * model_.micro_batch_count + a.micro_batch) * 2 + direction;
  }

  [[nodiscard]] bool ready(const lane_state& lane, const lane_action& a) const {
    const bool forward = a.what == pass::forward;
    if (forward && lane.used >= lane.slots) return false;
    const bool from_outside = forward ? lane.stage > 0 : lane.stage + 1 < p_.stages.size();
    return !from_outside || arrived_[arrival(lane.stage, a)] != 0;
  }

  void start(std::uint32_t index, rep now) {
    lane_state& lane = lanes_[index];
    if (lane.running || lane.next == lane.actions.size()) return;
    const lane_action a = lane.actions[lane.next];
    if (!ready(lane, a)) return;
    worker_state& who = members_[lane.member];
    const bool forward = a.what == pass::forward;
    if (forward) {
      ++lane.used;
      who.slots_peak = std::max(who.slots_peak, ++who.slots_now);
    }
    ++lane.next;
    lane.running = true;
    if (lane.first < 0) lane.first = now;
    const rep takes = forward ? who.forward : who.backward;
    lane.busy += takes;
    push(now + takes, happening::finished, index, a);
    if (of_.keep != record::spans) return;
    spans_.push_back({of_.swarm->peers()[who.position].peer, lane.stage, lane.lane, a.micro_batch,
                      !forward, duration{now}, duration{now + takes}});
  }

  void push(rep when, happening what, std::uint32_t lane, const lane_action& action) {
    queue_.push({when, ++order_, what, lane, action});
  }

  [[nodiscard]] duration reduction_of(const stage& s) const {
    if (of_.over == links::free) return duration{};
    duration slowest{};
    for (std::size_t m = 1; m < s.group.size(); ++m) {
      const auto& link = of_.swarm->between(of_.swarm->position_of(s.group[m - 1].peer),
                                            of_.swarm->position_of(s.group[m].peer));
      slowest =
          std::max(slowest, reduce_time(model_, s.layer_first, s.layer_count,
                                        static_cast<std::uint32_t>(s.group.size()), link.link));
    }
    return slowest;
  }

  void add_uses(step_report& r) const {
    std::size_t at = 0;
    for (std::uint32_t s = 0; s < p_.stages.size(); ++s) {
      const stage& here = p_.stages[s];
      for (std::uint32_t m = 0; m < here.group.size(); ++m, ++at) {
        const worker_state& who = members_[at];
        const speed& rate = of_.swarm->peers()[who.position].rate;
        duration update{};
        for (std::uint32_t l = here.layer_first; l < here.layer_first + here.layer_count; ++l)
          update += update_time(model_.layers[l], rate);
        r.update = std::max(r.update, update / std::max<rep>(lane_count(here.group[m]), 1));
        r.uses.push_back({here.group[m].peer,
                          {s, m},
                          duration{who.busy_most},
                          duration{who.sending},
                          stage_memory(model_, p_, {s, m}),
                          touched(who, {s, m})});
      }
    }
  }

  /// Returns the account with what was really in use in place of what there is room for.
  [[nodiscard]] bytes touched(const worker_state& who, const place& where) const {
    const member& self = p_.stages[where.stage].group[where.index];
    memory_account a = account_of(model_, p_, where);
    std::uint64_t slots = 0;
    for (std::uint32_t lane = 0; lane < lane_count(self); ++lane)
      slots += slots_of_lane(model_, p_.stages[where.stage], self, lane);
    if (slots > 0) a.slots = {a.slots.count / slots * who.slots_peak};
    const std::uint64_t inputs = input_slots_of(model_, p_, where);
    if (inputs > 0) a.inputs = {a.inputs.count / inputs * who.inputs_peak};
    return total(a);
  }

  const simulation_request& of_;
  const model_profile& model_;
  const plan& p_;
  std::vector<std::uint32_t> first_member_;  // of each stage
  std::vector<worker_state> members_;
  std::vector<lane_state> lanes_;
  std::vector<std::uint32_t> lane_of_;  // [stage][micro-batch]
  std::vector<char> arrived_;           // [stage][micro-batch][direction]
  std::vector<rep> stage_end_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, rep> free_at_;
  std::priority_queue<occurrence, std::vector<occurrence>, std::greater<>> queue_;
  std::uint64_t order_ = 0;
  std::vector<pass_span> spans_;
};

}  // namespace

step_report simulate_step(const simulation_request& of, const plan& p) {
  return simulation(of, p).report();
}

}  // namespace perigee::planner
