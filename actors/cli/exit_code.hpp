// How the command line ends. The numbers are part of its interface: `perigee help exit` prints
// them.
#pragma once

#include "proto/base/result.hpp"

namespace perigee::actors {

enum class exit_code : int {
  fine = 0,         // all that was asked held
  failed = 1,       // the job halted, or a digest differs from its verification
  usage = 2,        // a flag, a job file, data or weights are wrong
  unreachable = 3,  // an address is in use, or no peer answers
  infeasible = 4,   // the job does not fit the peers' memory, or the plan asked for cannot be made
  interrupted = 130,  // Ctrl-C
};

/// Returns the code that tells a program what kind of failure it was.
[[nodiscard]] constexpr exit_code exit_for(errc code) noexcept {
  switch (code) {
    case errc::malformed:
    case errc::unsupported:
      return exit_code::usage;
    case errc::unknown_peer:
    case errc::unavailable:
    case errc::timed_out:
    case errc::io:
      return exit_code::unreachable;
    case errc::infeasible:
    case errc::exhausted:
      return exit_code::infeasible;
    case errc::stale:
      break;
  }
  return exit_code::failed;
}

/// Returns the code for a job that halted: whatever stopped it, it failed, unless it never could
/// run.
[[nodiscard]] constexpr exit_code exit_for_halt(errc code) noexcept {
  return code == errc::infeasible || code == errc::exhausted ? exit_code::infeasible
                                                             : exit_code::failed;
}

}  // namespace perigee::actors
