// Clocks and medians of the benchmarks.
#pragma once

#include "proto/base/result.hpp"

#include <sys/types.h>

#include <chrono>
#include <vector>

namespace perigee::bench {

/// Returns the middle value, of an even number the upper one of the two; `of` is not empty.
[[nodiscard]] double median(std::vector<double> of);

class stopwatch {
public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Returns the CPU time that all threads of this process have used.
[[nodiscard]] double cpu_seconds();

/// The same of another process; more exact than the ticks of /proc. Fails with `stale` if it has
/// ended.
result<double> cpu_seconds_of(pid_t process);

}  // namespace perigee::bench
