#include "net/sim/invariants.hpp"

#include "proto/stage_memory.hpp"

#include <utility>

namespace perigee::net {

namespace {

enum progress_mark : std::uint8_t {
  untouched,
  forward_given,
  forward_done,
  backward_given,
  complete
};

}  // namespace

invariants::invariants(const model_profile& model, plan p) : model_(model), plan_(std::move(p)) {
  for (std::uint32_t s = 0; s < plan_.stages.size(); ++s) {
    for (std::uint32_t m = 0; m < plan_.stages[s].group.size(); ++m) {
      const member& who = plan_.stages[s].group[m];
      for (std::uint32_t l = 0; l < lane_count(who); ++l) {
        const slice_range slices = slices_of_lane(who, l);
        lane_state lane;
        lane.where = {s, m};
        lane.first = micro_batches_of(model_, {0, slices.first});
        lane.end = lane.first + micro_batches_of(model_, slices);
        lanes_[who.peer].push_back(lane);
      }
    }
  }
}

std::optional<std::string> invariants::check_plan() const {
  std::uint32_t layer = 0;
  std::size_t members = 0;
  for (const stage& s : plan_.stages) {
    if (s.layer_first != layer || s.layer_count == 0) return "a layer has no stage or two";
    layer += s.layer_count;
    std::uint32_t slice = 0;
    for (const member& who : s.group) {
      if (who.slice_first != slice || who.slice_count == 0) return "a slice has no member or two";
      slice += who.slice_count;
      ++members;
    }
    if (slice != model_.slice_count) return "a slice has no member or two";
  }
  if (layer != model_.layers.size()) return "a layer has no stage or two";
  if (members != lanes_.size()) return "a peer has two places";
  return std::nullopt;
}

std::optional<std::string> invariants::note_given(peer_id who, std::uint32_t lane,
                                                  const task& what) {
  const auto wrong = [&](const std::string& why) {
    return text(who) + ", lane " + std::to_string(lane) + ", " + text(what) + ": " + why;
  };
  lane_state* here = find(who, lane);
  if (here == nullptr) return wrong("the plan has no such lane");
  if (std::exchange(here->busy, true)) return wrong("the lane is busy");
  const bool pass = what.kind == task_kind::forward || what.kind == task_kind::backward;
  const std::string why = pass ? note_pass(*here, what) : note_update(*here, what);
  if (!why.empty()) return wrong(why);
  return std::nullopt;
}

std::string invariants::note_pass(lane_state& lane, const task& what) {
  if (what.index < lane.first || what.index >= lane.end) return "the micro-batch is another lane's";
  stage_step& step = at(what.step)[lane.where.stage];
  std::uint8_t& mark = step.done[what.index];
  if (what.kind == task_kind::forward) {
    if (mark != untouched) return "the micro-batch was forward already";
    if (++lane.between > plan_.stages[lane.where.stage].in_flight_max) {
      return "too many micro-batches are under way";
    }
    mark = forward_given;
    return {};
  }
  if (mark != forward_done) return "the micro-batch is not forward, or was back already";
  const bool begins_slice = what.index % model_.slice_size == 0;
  if (!begins_slice && step.done[what.index - 1] != complete) {
    return "the micro-batch before it in its slice is not added yet";
  }
  mark = backward_given;
  return {};
}

std::string invariants::note_update(const lane_state& lane, const task& what) {
  const stage& own = plan_.stages[lane.where.stage];
  if (what.index < own.layer_first || what.index >= own.layer_first + own.layer_count) {
    return "the layer is another stage's";
  }
  step_state& step = at(what.step);
  if (what.kind == task_kind::fold) {
    const member& me = own.group[lane.where.index];
    const std::uint32_t first = micro_batches_of(model_, {0, me.slice_first});
    const std::uint32_t count = micro_batches_of(model_, {me.slice_first, me.slice_count});
    for (std::uint32_t m = first; m < first + count; ++m) {
      if (step[lane.where.stage].done[m] != complete) return "an own micro-batch is not done";
    }
  }
  if (what.kind == task_kind::apply) {
    for (const stage_step& each : step) {
      if (each.complete != model_.micro_batch_count)
        return "a stage has not done its micro-batches";
    }
  }
  return {};
}

std::optional<std::string> invariants::note_computed(peer_id who, std::uint32_t lane,
                                                     const task& what) {
  lane_state* here = find(who, lane);
  if (here == nullptr || !std::exchange(here->busy, false)) {
    return text(who) + ", lane " + std::to_string(lane) + ": computed what nobody asked for";
  }
  if (what.kind == task_kind::forward) {
    at(what.step)[here->where.stage].done[what.index] = forward_done;
  } else if (what.kind == task_kind::backward) {
    stage_step& step = at(what.step)[here->where.stage];
    step.done[what.index] = complete;
    ++step.complete;
    --here->between;
    ++passes_;
  }
  return std::nullopt;
}

invariants::step_state& invariants::at(std::uint64_t step) {
  const auto [found, fresh] = steps_.try_emplace(step);
  if (fresh) {
    found->second.resize(plan_.stages.size());
    for (stage_step& s : found->second) s.done.resize(model_.micro_batch_count);
    // Peers of one plan are never more than a step apart in what they compute.
    if (step >= 4) steps_.erase(step - 4);
  }
  return found->second;
}

invariants::lane_state* invariants::find(peer_id who, std::uint32_t lane) {
  const auto found = lanes_.find(who);
  if (found == lanes_.end() || lane >= found->second.size()) return nullptr;
  return &found->second[lane];
}

}  // namespace perigee::net
