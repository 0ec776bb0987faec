// One peer's place in a plan, with its neighbours: who sends it what, and to whom it sends.
//
// Threads  none; a value.
#pragma once

#include "planner/run/schedule.hpp"
#include "proto/job.hpp"
#include "proto/model_profile.hpp"
#include "proto/plan.hpp"
#include "proto/tensor.hpp"

namespace perigee::planner {

struct stage_place {
  plan whole;
  place where;
  model_profile model;

  [[nodiscard]] const stage& own_stage() const { return whole.stages[where.stage]; }
  [[nodiscard]] const member& own() const { return own_stage().group[where.index]; }
  [[nodiscard]] bool first_stage() const { return where.stage == 0; }
  [[nodiscard]] bool last_stage() const { return where.stage + 1 == whole.stages.size(); }
  [[nodiscard]] bool first_member() const { return where.index == 0; }
  [[nodiscard]] bool last_member() const { return where.index + 1 == own_stage().group.size(); }
  [[nodiscard]] std::uint32_t layer_end() const {
    return own_stage().layer_first + own_stage().layer_count;
  }
  [[nodiscard]] bool has_layer(std::uint32_t layer) const {
    return layer >= own_stage().layer_first && layer < layer_end();
  }
  /// The end of the slices that the members before this one, and this one too, have added.
  [[nodiscard]] std::uint32_t slices_before() const { return own().slice_first; }
  [[nodiscard]] std::uint32_t slices_with() const { return own().slice_first + own().slice_count; }

  /// Returns the member of a stage that has a micro-batch.
  [[nodiscard]] peer_id owner_of(std::uint32_t stage_index, std::uint32_t micro_batch) const;
  /// Returns the member before (after) this one in its group; requires that there is one.
  [[nodiscard]] peer_id left() const { return own_stage().group[where.index - 1].peer; }
  [[nodiscard]] peer_id right() const { return own_stage().group[where.index + 1].peer; }
  /// Returns the member that speaks for a stage: its first.
  [[nodiscard]] peer_id speaker(std::size_t stage_index) const {
    return whole.stages[stage_index].group.front().peer;
  }
  [[nodiscard]] bool has_micro_batch(std::uint32_t micro_batch) const;

  /// Returns who sends this tensor to this peer, or peer_id{} if nobody does.
  [[nodiscard]] peer_id sender_of(const tensor_ref& what) const;
  [[nodiscard]] bytes size_of(const tensor_ref& what) const;
};

}  // namespace perigee::planner
