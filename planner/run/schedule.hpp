// A schedule: what one lane does in the passes of a step, as data.
//
//   gpipe   F0 F1 F2 F3 B0 B1 B2 B3            (in rounds of in_flight_max)
//   1f1b    F0 F1 B0 F2 B1 F3 B2 B3            (in_flight_max = 2)
//
// Guarantees  a pure function of the plan and the batch; backward passes come in micro-batch order,
//             because a slice's gradient is the left fold of its micro-batches.
// Requires    a plan that is well formed (planner/run/plan_check.hpp).
// Source      GPipe (Huang et al., 2019), section 2; 1F1B: PipeDream-Flush (Narayanan et al.,
//             2021), section 2.
#pragma once

#include "proto/model_profile.hpp"
#include "proto/plan.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace perigee::planner {

enum class pass : std::uint8_t { forward, backward };

struct lane_action {
  pass what{};
  std::uint32_t micro_batch = 0;
  friend bool operator==(const lane_action&, const lane_action&) = default;
};

using lane_schedule = std::vector<lane_action>;

/// Micro-batches [first, first + count).
struct micro_batch_range {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  friend bool operator==(const micro_batch_range&, const micro_batch_range&) = default;
};

/// Returns the micro-batches of a run of slices.
[[nodiscard]] micro_batch_range micro_batches_in(const model_profile& model,
                                                 slice_range slices) noexcept;

/// Returns what lane `lane` of the peer at `where` does in each step.
[[nodiscard]] lane_schedule schedule_of(const plan& p, const place& where, std::uint32_t lane,
                                        const model_profile& model);

/// Returns the most micro-batches that are between forward and backward at once.
[[nodiscard]] std::uint32_t peak_in_flight(const lane_schedule& actions) noexcept;

/// Returns e.g. `F0 F1 B0 B1`.
[[nodiscard]] std::string text(const lane_schedule& actions);

}  // namespace perigee::planner
