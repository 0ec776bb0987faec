#include "tests/bench/measure.hpp"

#include <algorithm>
#include <ctime>
#include <string>

namespace perigee::bench {

namespace {

result<double> seconds_on(clockid_t clock) {
  timespec now{};
  if (clock_gettime(clock, &now) != 0) return error{errc::stale, "no such clock any more"};
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

double median(std::vector<double> of) {
  CHECK(!of.empty());
  const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
  std::nth_element(of.begin(), middle, of.end());
  return *middle;
}

double cpu_seconds() { return *seconds_on(CLOCK_PROCESS_CPUTIME_ID); }

result<double> cpu_seconds_of(pid_t process) {
  clockid_t clock{};
  if (clock_getcpuclockid(process, &clock) != 0)
    return error{errc::stale, "process " + std::to_string(process) + " has ended"};
  return seconds_on(clock);
}

}  // namespace perigee::bench
