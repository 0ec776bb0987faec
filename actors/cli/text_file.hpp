// A small text file of the user's: a job, a fleet, a list of peers.
#pragma once

#include "proto/base/result.hpp"

#include <string>
#include <string_view>

namespace perigee::actors {

/// Returns the content of a file of at most 4 MiB; `what` says in errors what it should be,
/// e.g. "job file". Fails with `io` (not there, not readable, not a regular file: nobody is waited
/// for at a pipe) or `malformed` (too large).
result<std::string> read_text_file(const std::string& path, std::string_view what);

}  // namespace perigee::actors
