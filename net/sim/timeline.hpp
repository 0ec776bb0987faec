// A simulation as text: who computed what when, one row for each lane, and what it came to.
//
//   p1    |01ab..+=*|   0-9 forward of micro-batch …0 to …9, a-j backward of them,
//   p2    |.01ab.+=*|   + fold, = measure, * update, . waiting
//
// Threads  none; a pure function.
#pragma once

#include "net/sim/simulate.hpp"

#include <string>

namespace perigee::net {

struct timeline_options {
  std::uint32_t width = 96;  // letters for the time of one step
  std::uint64_t step = 1;    // which step; the last one if there are not so many
};

/// Requires that spans were recorded.
[[nodiscard]] std::string timeline(const simulation_report& report,
                                   const timeline_options& options = {});

}  // namespace perigee::net
