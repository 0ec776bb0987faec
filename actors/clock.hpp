// The one place where real time becomes an `instant`.
#pragma once

#include "proto/base/instant.hpp"

#include <chrono>

namespace perigee::actors {

[[nodiscard]] inline instant now() {
  const auto since_boot = std::chrono::steady_clock::now().time_since_epoch();
  return instant(std::chrono::duration_cast<duration>(since_boot));
}

}  // namespace perigee::actors
