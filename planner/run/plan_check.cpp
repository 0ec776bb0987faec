#include "planner/run/plan_check.hpp"

#include "planner/limits.hpp"
#include "planner/run/schedule_check.hpp"
#include "proto/stage_memory.hpp"

#include <set>

namespace perigee::planner {

namespace {

error malformed(std::string what) { return {errc::malformed, "plan refused: " + std::move(what)}; }

std::string number(std::uint64_t n) { return std::to_string(n); }

result<void> check_bounds(const plan& p, const model_profile& model) {
  if (model.layers.empty() || model.layers.size() > limits::layers_max)
    return malformed("the model has " + number(model.layers.size()) + " layers");
  if (model.micro_batch_count == 0 || model.micro_batch_count > limits::micro_batches_max)
    return malformed("a step has " + number(model.micro_batch_count) + " micro-batches");
  if (model.slice_size == 0 || model.slice_count == 0) return malformed("a step has no slices");
  if (p.stages.empty() || p.stages.size() > model.layers.size())
    return malformed(number(p.stages.size()) + " stages for " + number(model.layers.size()) +
                     " layers");
  if (p.schedule != schedule_kind::gpipe && p.schedule != schedule_kind::one_f_one_b)
    return malformed("its schedule is of an unknown kind");
  return {};
}

result<void> check_group(const stage& s, std::size_t index, const model_profile& model) {
  const std::string where = "stage " + number(index);
  std::uint64_t slice = 0;
  for (const member& m : s.group) {
    if (m.slice_first != slice || m.slice_count == 0)
      return malformed(where + " gives " + text(m.peer) + " slices that do not follow slice " +
                       number(slice));
    slice += m.slice_count;
    if (m.workers == 0 || m.workers > limits::lanes_max)
      return malformed(text(m.peer) + " has " + number(m.workers) + " workers");
    if (m.peer == peer_id{}) return malformed(where + " names nobody as a member");
  }
  if (slice != model.slice_count)
    return malformed(where + " shares out " + number(slice) + " of " + number(model.slice_count) +
                     " slices");
  return {};
}

result<void> check_form(const plan& p, const model_profile& model) {
  if (auto bounds = check_bounds(p, model); !bounds) return bounds;
  std::uint64_t layer = 0;
  std::set<peer_id> placed;
  for (std::size_t i = 0; i < p.stages.size(); ++i) {
    const stage& s = p.stages[i];
    if (s.layer_first != layer || s.layer_count == 0)
      return malformed("the layers of stage " + number(i) + " do not follow layer " +
                       number(layer));
    layer += s.layer_count;
    if (s.in_flight_max == 0 || s.in_flight_max > limits::micro_batches_max)
      return malformed("stage " + number(i) + " allows " + number(s.in_flight_max) +
                       " micro-batches in flight");
    if (auto group = check_group(s, i, model); !group) return group;
    for (const member& m : s.group)
      if (!placed.insert(m.peer).second) return malformed(text(m.peer) + " has two places");
  }
  if (layer != model.layers.size())
    return malformed("it covers " + number(layer) + " of " + number(model.layers.size()) +
                     " layers");
  return {};
}

}  // namespace

result<void> check_plan(const plan& p, const model_profile& model) {
  if (auto form = check_form(p, model); !form) return form;
  return check_schedules(p, model, programs_of(p, model));
}

std::optional<objection> objection_to(const plan& p, const model_profile& model,
                                      const capacity& own) {
  if (auto sound = check_plan(p, model); !sound) return objection{sound.why(), {}, {}};
  const place where = place_of(p, own.peer);
  if (where.stage >= p.stages.size()) return std::nullopt;
  const stage& s = p.stages[where.stage];
  const std::uint32_t workers = s.group[where.index].workers;
  if (workers > own.workers)
    return objection{malformed(text(own.peer) + " has " + number(own.workers) +
                               " workers, not the " + number(workers) + " it asks for"),
                     {},
                     {}};
  const bytes needed = stage_memory(model, p, where);
  if (needed <= own.memory) return std::nullopt;
  const std::string layers = s.layer_count == 1 ? "layer " + number(s.layer_first)
                                                : "layers " + number(s.layer_first) + "-" +
                                                      number(s.layer_first + s.layer_count - 1);
  return objection{{errc::infeasible, text(own.peer) + " needs " + text(needed) + " for " + layers +
                                          " and offers " + text(own.memory) + ": short by " +
                                          number((needed - own.memory).count) + " B"},
                   needed,
                   own.memory};
}

}  // namespace perigee::planner
