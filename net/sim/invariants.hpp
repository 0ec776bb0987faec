// What must hold of any run of a plan, whoever decides: checked from outside, task by task.
//
//   each layer and slice has exactly one member; a lane computes one task at a time; each stage
//   does each micro-batch of a step once forward, then once back, in order within a slice; no lane
//   has more under way than its stage allows; nobody folds before its own micro-batches are done,
//   nor applies before every stage's are.
//
// Guarantees  a broken rule is named once, in one line.
// Threads     none; one owner.
#pragma once

#include "proto/model_profile.hpp"
#include "proto/plan.hpp"
#include "proto/task.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace perigee::net {

class invariants {
public:
  invariants(const model_profile& model, plan p);

  /// Returns what is wrong with the plan itself.
  [[nodiscard]] std::optional<std::string> check_plan() const;
  /// A lane is asked to compute; returns what is wrong with that.
  [[nodiscard]] std::optional<std::string> note_given(peer_id who, std::uint32_t lane,
                                                      const task& what);
  [[nodiscard]] std::optional<std::string> note_computed(peer_id who, std::uint32_t lane,
                                                         const task& what);
  /// Micro-batches that the stages have done back and forth, of all steps.
  [[nodiscard]] std::uint64_t passes() const noexcept { return passes_; }

private:
  struct lane_state {
    place where;
    std::uint32_t first = 0;  // micro-batches of the lane
    std::uint32_t end = 0;
    std::uint32_t between = 0;  // under way: forward and not yet back
    bool busy = false;
  };
  struct stage_step {
    std::vector<std::uint8_t> done;  // of each micro-batch: 1 forward given, 2 forward done,
                                     // 3 backward given, 4 backward done
    std::uint32_t complete = 0;
  };
  using step_state = std::vector<stage_step>;

  [[nodiscard]] step_state& at(std::uint64_t step);
  [[nodiscard]] std::string note_pass(lane_state& lane, const task& what);
  [[nodiscard]] std::string note_update(const lane_state& lane, const task& what);
  [[nodiscard]] lane_state* find(peer_id who, std::uint32_t lane);

  model_profile model_;
  plan plan_;
  std::map<peer_id, std::vector<lane_state>> lanes_;
  std::map<std::uint64_t, step_state> steps_;
  std::uint64_t passes_ = 0;
};

}  // namespace perigee::net
