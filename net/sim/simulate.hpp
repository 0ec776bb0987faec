// Runs a job on a fleet that only exists as numbers, and compares the answer with one machine's.
//
// Guarantees  a function of its arguments: the same seed gives the same report.
// Threads     none.
#pragma once

#include "net/sim/value_executor.hpp"
#include "net/sim/world.hpp"

#include <string>
#include <vector>

namespace perigee::net {

template <class T>
struct between {
  T least;
  T most;
};

/// What the peers of a fleet are drawn from, evenly.
struct fleet {
  std::uint32_t count = 4;
  between<std::uint64_t> operations_per_second{5'000'000'000, 50'000'000'000};  // of one worker
  between<std::uint32_t> workers{1, 1};
  between<std::uint64_t> memory{std::uint64_t{1} << 30U, std::uint64_t{4} << 30U};
  between<duration> latency{duration{200'000}, duration{5'000'000}};
  between<std::uint64_t> link_bytes_per_second{12'500'000, 125'000'000};
};

/// A peer (counted from 0) whose process ends at a time after the start.
struct departure {
  std::uint32_t peer = 0;
  duration after{};
};

struct simulation_options {
  recording how = recording::spans;
  duration limit = std::chrono::hours(24 * 365);  // of virtual time
  std::uint32_t jitter_permille = 50;
  value_options values;
  std::vector<departure> departures;
  executor_factory executors;  // empty = value hashes
};

struct simulation_report {
  std::uint64_t seed = 0;
  job_phase phase{};
  error why;                // halted: the reason
  std::uint64_t steps = 0;  // done
  plan current;
  commit_record last;
  std::vector<digest128> expected;  // one machine's states after as many steps
  bool equal = false;               // the last record's states are those; value hashes only
  duration took{};                  // virtual, from the start to the end
  duration measured_step{};
  std::uint64_t events = 0;
  std::uint64_t messages = 0;
  std::uint64_t tensors = 0;
  std::uint64_t trace_hash = 0;
  std::vector<peer_record> peers;
  std::vector<peer_work> work;
  std::vector<computed_span> spans;  // if recorded
  std::vector<remark_line> lines;
};

/// Fails with `malformed` for a fleet without peers, with `timed_out` if the job is not over at the
/// limit: who waits for what is in the reason.
[[nodiscard]] result<simulation_report> simulate(const job_record& job, const model_profile& model,
                                                 const fleet& of, std::uint64_t seed,
                                                 const simulation_options& options = {});

}  // namespace perigee::net
