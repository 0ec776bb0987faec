// How long a step of an outline would take, in closed form: quick enough to ask for each of a
// million candidates. `simulate_step` has the last word on those that are left.
//
//   stage     the busiest lane's micro-batches and its update, or what its link has to carry if
//             that takes longer
//   step      the longest stage beyond one of its micro-batches + one micro-batch through all
//             stages and back, links included + the longest reduction; no less than what a shared
//             medium has to carry
//   lanes     a lane takes micro-batches in order. Behind lanes that are cut otherwise it takes all
//             of one before those of the next, which then wait: the stage with more lanes is as
//             long as it would be with as few as its neighbour
//
// Threads     none; pure functions.
#pragma once

#include "planner/plan/layer_sums.hpp"

namespace perigee::planner {

/// Slices are whole micro-batches of one peer. The samples of a micro-batch, shared among a group
/// for each micro-batch, are how other planners share: only for comparisons with them.
enum class granularity : std::uint8_t { slice, sample };

struct estimator {
  const planning_space* space = nullptr;
  const layer_sums* sums = nullptr;
  granularity unit = granularity::slice;
  /// With samples: micro-batches of a step; a slice is one sample of each of them.
  std::uint32_t rounds = 0;
};

struct stage_estimate {
  duration::rep busy = 0;    // of the busiest lane or link
  duration::rep once = 0;    // one micro-batch, at the slowest member
  duration::rep reduce = 0;  // along the chain
  duration::rep hop = 0;     // from the stage before, one way
};

/// Returns a stage behind `before` (nullptr: the first one).
[[nodiscard]] stage_estimate estimate_stage(const estimator& with, const outline_stage& s,
                                            const outline_stage* before);

/// Returns the whole step.
[[nodiscard]] duration::rep estimate(const estimator& with, const outline& cut);

/// Returns the slices a group takes of layers `r`, each by how fast its workers are.
[[nodiscard]] std::vector<std::uint32_t> shares_of(const estimator& with, layer_range r,
                                                   const std::vector<std::uint32_t>& peers);

}  // namespace perigee::planner
