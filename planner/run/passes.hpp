// The forward and backward passes of a step on the lanes of one peer: which pass a lane may do
// next, and what it waits for if none.
//
// A lane follows its schedule. A forward pass needs its input and a free slot, a backward pass the
// gradient behind it; a slot is free again when the backward pass is done and what the micro-batch
// sent has left.
//
// Guarantees  each pass is given out once a step, in schedule order of its lane.
// Threads     none; one owner.
#pragma once

#include "planner/run/stage_place.hpp"
#include "proto/task.hpp"

#include <map>
#include <optional>
#include <set>
#include <vector>

namespace perigee::planner {

class passes {
public:
  /// `where` outlives this.
  explicit passes(const stage_place& where);

  [[nodiscard]] std::uint32_t lane_count() const {
    return static_cast<std::uint32_t>(lanes_.size());
  }

  /// Begins a step: all lanes at the start of their schedules. Slots and arrivals stay.
  void begin(std::uint64_t step);

  /// An input is here; returns false for one that was here already.
  bool note_arrived(const tensor_ref& what);
  /// Returns the tensor that leaves after a pass, if one does.
  [[nodiscard]] std::optional<tensor_ref> note_computed(const task& what);
  void note_transmitted(const tensor_ref& what);

  /// Returns the next pass of a lane if all it needs is here, and counts it as given out.
  [[nodiscard]] std::optional<task> take(std::uint32_t lane);
  /// Returns what the next pass of a lane waits for: a tensor that is to come, or one that is to
  /// leave so that a slot gets free; nothing if it has no next pass or waits for nothing.
  [[nodiscard]] std::optional<tensor_ref> lack(std::uint32_t lane) const;

  /// Returns whether all passes of the step are given out and computed.
  [[nodiscard]] bool done() const;

private:
  struct lane_state {
    lane_schedule actions;
    std::size_t next = 0;
    std::uint32_t computed = 0;
    std::uint32_t slots_used = 0;
  };
  struct slot {
    std::uint32_t lane = 0;
    bool backward_done = false;
    std::set<tensor_ref> leaving;
  };
  using slot_key = std::pair<std::uint64_t, std::uint32_t>;  // step and micro-batch

  [[nodiscard]] std::optional<tensor_ref> input_of(const lane_action& a) const;
  void free_if_done(std::map<slot_key, slot>::iterator at);

  const stage_place& where_;
  std::uint64_t step_ = 0;
  std::vector<lane_state> lanes_;
  std::set<tensor_ref> here_;
  std::map<slot_key, slot> slots_;
};

}  // namespace perigee::planner
