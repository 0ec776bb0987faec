// instant: a point in time that nobody here can ask for.
//
// The clock has no `now()`: time is an argument of every machine, so that real and virtual time run
// the same code.
#pragma once

#include "proto/base/units.hpp"

namespace perigee {

struct told_clock {
  using rep = std::chrono::nanoseconds::rep;
  using period = std::chrono::nanoseconds::period;
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<told_clock>;
  static constexpr bool is_steady = true;
};

using instant = told_clock::time_point;

inline constexpr instant never = instant::max();

}  // namespace perigee
