// What must hold between the fields of a job, each of which is in its range.
#pragma once

#include "actors/cli/job_file.hpp"

#include <optional>
#include <string>

namespace perigee::actors {

/// Why fields do not fit together, and at which of them to point.
struct misfit {
  std::string section;
  std::string name;
  std::string what;
  friend bool operator==(const misfit&, const misfit&) = default;
};

/// Returns the first misfit, or nothing.
[[nodiscard]] std::optional<misfit> misfit_in(const job_file& job);

}  // namespace perigee::actors
