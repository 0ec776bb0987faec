#include "planner/run/reduction.hpp"

#include "proto/base/check.hpp"

#include <utility>

namespace perigee::planner {

reduction::reduction(const stage_place& where) : where_(where) {
  layers_.resize(where.own_stage().layer_count);
}

void reduction::begin(std::uint64_t step) {
  step_ = step;
  opened_ = false;
  measured_ = 0;
  layers_.assign(layers_.size(), {});
  std::erase_if(here_, [&](const tensor_ref& ref) { return ref.step < step; });
}

void reduction::open() { opened_ = true; }

bool reduction::note_arrived(const tensor_ref& what) {
  if (!here_.insert(what).second) return false;
  const bool total = what.index == where_.model.slice_count;
  if (total && what.step == step_ && at(what.layer).folded) note_total(what.layer);
  return true;
}

void reduction::note_computed(const task& what, const outcome& how) {
  layer_state& l = at(what.index);
  if (what.kind == task_kind::measure) {
    l.measured = how;
    ++measured_;
    return;
  }
  l.folded = true;
  if (where_.last_member()) {
    note_total(what.index);
    return;
  }
  hand_overs_.push_back({where_.right(), gradient(what.index, where_.slices_with())});
  if (here_.contains(gradient(what.index, where_.model.slice_count))) note_total(what.index);
}

/// A member that has a total passes it on to its left.
void reduction::note_total(std::uint32_t layer) {
  layer_state& l = at(layer);
  if (l.total_here) return;
  l.total_here = true;
  if (!where_.first_member())
    hand_overs_.push_back({where_.left(), gradient(layer, where_.model.slice_count)});
}

std::optional<task> reduction::take() {
  if (!opened_) return std::nullopt;
  const std::uint32_t first = where_.own_stage().layer_first;
  for (std::uint32_t layer = where_.layer_end(); layer-- > first;) {
    layer_state& l = at(layer);
    if (!l.fold_given &&
        (where_.first_member() || here_.contains(gradient(layer, where_.slices_before())))) {
      l.fold_given = true;
      return task{task_kind::fold, step_, layer, {}};
    }
    if (l.total_here && !l.measure_given) {
      l.measure_given = true;
      return task{task_kind::measure, step_, layer, {}};
    }
  }
  return std::nullopt;
}

std::vector<hand_over> reduction::hand_overs() { return std::exchange(hand_overs_, {}); }

std::optional<tensor_ref> reduction::lack() const {
  if (!opened_) return std::nullopt;
  for (std::uint32_t layer = where_.layer_end(); layer-- > where_.own_stage().layer_first;) {
    const layer_state& l = layers_[layer - where_.own_stage().layer_first];
    if (!l.fold_given) return gradient(layer, where_.slices_before());
    if (l.folded && !l.total_here) return gradient(layer, where_.model.slice_count);
  }
  return std::nullopt;
}

measurement reduction::measured() const {
  CHECK(done());
  measurement m;
  m.job = where_.whole.job;
  m.epoch = where_.whole.epoch;
  m.step = step_;
  m.stage = where_.where.stage;
  for (const layer_state& l : layers_) {
    if (!l.measured.finite && m.finite) {
      m.finite = false;
      m.where = l.measured.where;
    }
    m.values.insert(m.values.end(), l.measured.values.begin(), l.measured.values.end());
  }
  if (where_.last_stage()) {
    m.loss_bits = layers_.back().measured.loss_bits;
    m.counted = layers_.back().measured.counted;
  }
  return m;
}

tensor_ref reduction::gradient(std::uint32_t layer, std::uint32_t end) const {
  return {tensor_kind::gradient, step_, layer, end};
}

reduction::layer_state& reduction::at(std::uint32_t layer) {
  CHECK(where_.has_layer(layer));
  return layers_[layer - where_.own_stage().layer_first];
}

}  // namespace perigee::planner
