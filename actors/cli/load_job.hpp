// From a job file to a job that can be submitted: parsed, its data read and named by digest, its id
// known.
#pragma once

#include "actors/cli/job_file.hpp"
#include "proto/base/result.hpp"
#include "proto/message.hpp"

#include <string>

namespace perigee::actors {

/// Caps this process's kernels as the job asks, before any is built. Fails with `malformed` (file,
/// line and column, or the data or weights file and place in it) or `io`.
result<job_record> load_job(const std::string& path);

/// The same from what was read of a job file.
result<job_record> job_of(job_file parsed);

}  // namespace perigee::actors
