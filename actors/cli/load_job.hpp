// From a job file to a job that can be submitted: parsed, its data read and named by digest, its id
// known.
#pragma once

#include "proto/base/result.hpp"
#include "proto/message.hpp"

#include <string>

namespace perigee::actors {

/// Fails with `malformed` (file, line and column, or the data file and place in it) or `io`.
result<job_record> load_job(const std::string& path);

}  // namespace perigee::actors
