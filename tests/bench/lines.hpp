// A figure as a line: for people in columns, for programs as a JSON object.
#pragma once

#include "tests/bench/figure.hpp"

#include <string>

namespace perigee::bench {

/// Returns name, value, unit, target and whether it holds: `ok` or `MISSED`; a figure that is only
/// shown ends after its unit.
[[nodiscard]] std::string line_of(const figure& what);

/// The same as a JSON object; target and holds are null for a figure that is only shown.
[[nodiscard]] std::string json_line_of(const figure& what);

}  // namespace perigee::bench
