// One measured figure and what it should be.
#pragma once

#include <string>

namespace perigee::bench {

struct figure {
  std::string name;
  double value = 0;
  std::string unit;
  double target = 0;     // a figure that is only shown: 0 and at_least
  bool at_least = true;  // else at most
};

}  // namespace perigee::bench
