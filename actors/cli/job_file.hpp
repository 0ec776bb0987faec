// A job file: TOML that says what to train, and what is wished of the plan.
//
// One table (job_fields.cpp) describes every field; it drives reading, checking and `job_help`.
//
// Guarantees  nothing is guessed: a field that is unknown, of the wrong type, out of range, missing
//             or of no use to the kind of model, data, optimizer or rate is refused with its place,
//             as `file:line:column: what`.
#pragma once

#include "proto/base/result.hpp"
#include "proto/job.hpp"

#include <string>
#include <string_view>

namespace perigee::actors {

/// Content digests are still zero: the data is not read here.
struct job_file {
  specification spec;
  wishes wanted;
  friend bool operator==(const job_file&, const job_file&) = default;
};

/// Reads a file; relative paths in it start at its folder. Fails with `io` (it cannot be read) or
/// `malformed`.
result<job_file> read_job(const std::string& path);

/// Where a text came from: `file` names it in errors, relative paths in it start at `folder`.
struct job_origin {
  std::string file = "job.toml";
  std::string folder = ".";
};

/// Fails with `malformed`.
result<job_file> job_from(std::string_view toml, const job_origin& origin);

/// Returns the page that documents every field, with an example.
[[nodiscard]] std::string job_help();

}  // namespace perigee::actors
