// A plan for a described fleet, told to people, to programs, and drawn.
#pragma once

#include "planner/plan/explain.hpp"
#include "planner/plan/fleet_plan.hpp"

#include <string>

namespace perigee::actors {

/// Returns the plan as a table: stages, peers, memory, the parts of a step, who idles and why.
[[nodiscard]] std::string plan_table(const planner::fleet_request& request,
                                     const planner::fleet_plan& made);

/// Returns the same as one JSON object.
[[nodiscard]] std::string plan_json(const planner::fleet_request& request,
                                    const planner::fleet_plan& made);

/// Returns a picture of one step: what each lane does over time, and each peer's memory against its
/// offer. An SVG file that needs nothing beside it. Of a large plan the first 48 lanes are drawn.
[[nodiscard]] std::string plan_svg(const planner::fleet_request& request,
                                   const planner::fleet_plan& made);

/// Returns what each stage could do with less memory for a micro-batch's activations, and what it
/// would then compute again. A what-if: real runs keep everything today.
[[nodiscard]] std::string budget_table(const planner::fleet_request& request,
                                       const planner::fleet_plan& made);

/// Returns an explanation as lines.
[[nodiscard]] std::string explanation_text(const planner::explanation& e);

/// Returns e.g. `p2 edge box`.
[[nodiscard]] std::string shown_peer(const planner::fleet& swarm, peer_id who);

/// Returns e.g. `4.5 %`.
[[nodiscard]] std::string gap_text(const planner::fleet_plan& made);

}  // namespace perigee::actors
