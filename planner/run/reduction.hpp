// How the gradients of one step become totals: folds along the group's chain, and what the totals
// measure.
//
//   p1 fold --gradient [0,2)--> p2 fold --gradient [0,3)--> p3 fold
//   p1 measure <--total-- p2 measure <--total-- p3 measure
//
// Each layer goes its own way, the last layer first, so that both directions stream at once.
//
// Guarantees  slices are added in slice order whatever the group; each task is given out once.
// Threads     none; one owner.
#pragma once

#include "planner/run/stage_place.hpp"
#include "proto/message.hpp"
#include "proto/task.hpp"

#include <deque>
#include <optional>
#include <set>
#include <vector>

namespace perigee::planner {

struct hand_over {
  peer_id to;
  tensor_ref what;
  friend bool operator==(const hand_over&, const hand_over&) = default;
};

class reduction {
public:
  /// `where` outlives this.
  explicit reduction(const stage_place& where);

  /// Begins a step; what came for it is kept.
  void begin(std::uint64_t step);
  /// All passes are done: folds may be taken.
  void open();

  /// Returns false for a tensor that was here already.
  bool note_arrived(const tensor_ref& what);
  void note_computed(const task& what, const outcome& how);

  [[nodiscard]] std::optional<task> take();
  /// Returns what is to be sent since the last call.
  [[nodiscard]] std::vector<hand_over> hand_overs();
  /// Returns the gradient that it waits for, if it waits for one.
  [[nodiscard]] std::optional<tensor_ref> lack() const;

  [[nodiscard]] bool done() const { return opened_ && measured_ == layers_.size(); }
  /// Returns what the own stage measured; requires done().
  [[nodiscard]] measurement measured() const;

private:
  struct layer_state {
    bool fold_given = false;
    bool folded = false;
    bool total_here = false;
    bool measure_given = false;
    outcome measured;
  };
  [[nodiscard]] tensor_ref gradient(std::uint32_t layer, std::uint32_t end) const;
  [[nodiscard]] layer_state& at(std::uint32_t layer);
  void note_total(std::uint32_t layer);

  const stage_place& where_;
  std::uint64_t step_ = 0;
  bool opened_ = false;
  std::vector<layer_state> layers_;  // of the stage, in layer order
  std::size_t measured_ = 0;
  std::set<tensor_ref> here_;
  std::vector<hand_over> hand_overs_;
};

}  // namespace perigee::planner
