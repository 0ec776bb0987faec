// A status report that fits a frame: what is left out is said.
//
// Digests and accounts of jobs go first, then neighbours, those that take part in no job and are
// not linked before the others, then jobs, those that are over before the others.
//
// Threads  none; a pure function.
#pragma once

#include "proto/message.hpp"

#include <cstddef>
#include <string>

namespace perigee {

struct fitted_status {
  status_report report;
  std::string omitted;  // one line for people; empty: it is the whole report
};

/// Returns as much of `whole` as can be encoded in `bytes_max`.
[[nodiscard]] fitted_status fitted(status_report whole, std::size_t bytes_max);

}  // namespace perigee
