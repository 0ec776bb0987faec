// What a search decides: cuts, groups and shares. How deep each lane runs and how many workers a
// member uses follow by rule (`fitted`), so that they never have to be searched.
//
//   depth     1f1b: what the round trip behind a stage needs, ceil(round trip / pace) + 1 (Little's
//             law with one to spare), no more than it has micro-batches; gpipe: all of them
//             and no less than any stage behind has, or that one would wait for ever
//   memory    where it is short: first less depth (1f1b), stage by stage, then fewer workers
//
// Guarantees  a plan that is returned is within every peer's offer. O(stages * depth) a plan.
// Threads     none; pure functions.
#pragma once

#include "planner/plan/fleet.hpp"
#include "proto/plan.hpp"

#include <compare>
#include <optional>
#include <vector>

namespace perigee::planner {

/// A peer by its position in the fleet, and how many slices it takes.
struct part {
  std::uint32_t peer = 0;
  std::uint32_t slices = 0;
  friend auto operator<=>(const part&, const part&) = default;
};

struct outline_stage {
  std::uint32_t layer_first = 0;
  std::uint32_t layer_count = 0;
  std::vector<part> group;
  friend auto operator<=>(const outline_stage&, const outline_stage&) = default;
};

using outline = std::vector<outline_stage>;

/// What stays the same while plans are compared.
struct planning_space {
  const model_profile* model = nullptr;
  const fleet* swarm = nullptr;
  schedule_kind schedule = schedule_kind::one_f_one_b;
};

/// Returns the outline of a plan whose peers are all in the fleet.
[[nodiscard]] outline outline_of(const fleet& swarm, const plan& p);

/// Returns the plan of an outline, or nothing if it does not fit into the peers' memory.
[[nodiscard]] std::optional<plan> fitted(const planning_space& space, const outline& cut);

/// Who is short of memory for an outline at the least depth with one worker, and by how much.
struct shortfall {
  peer_id peer;
  bytes needed;
  bytes offered;
  friend bool operator==(const shortfall&, const shortfall&) = default;
};

/// Returns the greatest shortfall, or nothing if the outline fits.
[[nodiscard]] std::optional<shortfall> shortfall_of(const planning_space& space,
                                                    const outline& cut);

/// Shares `units` among members that take `each` for one: each next one goes to who would be done
/// with it first, the earlier one on a tie. Every member gets at least one.
/// Requires no more members than units.
[[nodiscard]] std::vector<std::uint32_t> poured(std::uint32_t units,
                                                const std::vector<duration::rep>& each);

}  // namespace perigee::planner
