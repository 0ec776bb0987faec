// Why a plan is as it is, in words: what binds, why it cuts there, who idles and why, and what more
// of something would give. Every answer is a plan that was made and simulated, not a rule of thumb.
//
// Guarantees  a pure function; a few plannings and, for each cut and the first idle peers, some
//             simulations.
// Threads     none; pure functions.
#pragma once

#include "planner/plan/fleet_plan.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace perigee::planner {

namespace limits {
inline constexpr std::size_t idle_explained_max = 8;
}

/// What is said of peers beyond the first few.
inline constexpr std::string_view enough_without = "the others are enough";

struct idle_peer {
  peer_id peer;
  std::string why;
  friend bool operator==(const idle_peer&, const idle_peer&) = default;
};

/// Returns who has no part in the plan, by id, and why; beyond the first few only that.
[[nodiscard]] std::vector<idle_peer> idle_in(const fleet_request& request, const fleet_plan& made);

/// What a step is made of; the parts add up to it.
struct step_parts {
  duration compute{};  // passes of the busiest lane
  duration warm_up{};  // until it begins, and after its end, if nothing had to travel
  duration links{};    // how much sooner the passes would be done if nothing had to travel
  duration reduction{};
  duration update{};
  friend bool operator==(const step_parts&, const step_parts&) = default;
};
[[nodiscard]] step_parts parts_of(const fleet_request& request, const fleet_plan& made);

struct explanation {
  std::string binding;
  std::vector<std::string> cuts;
  std::vector<idle_peer> idle;
  std::vector<std::string> gains;
};
[[nodiscard]] explanation explain(const fleet_request& request, const fleet_plan& made,
                                  const fleet_description& described);

}  // namespace perigee::planner
