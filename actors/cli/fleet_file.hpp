// A fleet file: TOML that describes peers and the links between them, for plans of machines that
// need not be there.
//
// One table of fields drives reading, checking and `fleet_help`.
//
// Guarantees  nothing is guessed: what is unknown, of the wrong type, out of range or missing is
//             refused with its place, as `file:line:column: what`.
#pragma once

#include "planner/plan/fleet.hpp"
#include "proto/base/result.hpp"

#include <string>
#include <string_view>

namespace perigee::actors {

/// Fails with `io` (it cannot be read) or `malformed`.
result<planner::fleet_description> read_fleet(const std::string& path);

/// `file` names the text in errors. Fails with `malformed`.
result<planner::fleet_description> fleet_from(std::string_view toml, const std::string& file);

/// Returns the page that documents every field, with an example.
[[nodiscard]] std::string fleet_help();

}  // namespace perigee::actors
