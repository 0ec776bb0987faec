// How soon a peer answers after its process was started, and what follows: it measures its speed,
// and for a job it builds primitives, memory and first weights.
#include "kernels/executor_factory.hpp"
#include "tests/bench/groups.hpp"
#include "tests/bench/measure.hpp"
#include "tests/bench/peers.hpp"
#include "tests/bench/workloads.hpp"
#include "tests/support/sequential_run.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>

namespace perigee::bench {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t starts = 11;
constexpr duration patience = 60s;
constexpr int look_period_ms = 5;

/// Seconds since the process was started.
struct start_times {
  double answered = 0;
  double calibrated = 0;
};

result<status_report> status_of(net::client& peer) {
  auto answer = peer.ask(status_request{}, net::deadline_in(patience));
  if (!answer) return answer.why();
  const auto* status = std::get_if<status_report>(&*answer);
  if (status == nullptr) return error{errc::malformed, "no status in answer to a request"};
  return *status;
}

bool is_calibrated(const status_report& status) {
  return std::all_of(status.self.rate.begin(), status.self.rate.end(),
                     [](auto rate) { return rate > 0; });
}

result<start_times> start_once(const test::temporary_folder& folder) {
  const auto address = free_addresses(1);
  if (!address) return address.why();
  start_times took;
  const stopwatch since;
  const auto node = actors::child::start(
      {PERIGEE_BINARY, "node", "--listen", address->front(), "--parent", std::to_string(getpid())},
      folder.file("node.log"));
  if (!node) return node.why();
  auto peer = reached(address->front(), patience);
  if (!peer) return peer.why();
  auto status = status_of(*peer);
  took.answered = since.seconds();
  while (status && !is_calibrated(*status) && since.seconds() < 60) {
    poll(nullptr, 0, look_period_ms);
    status = status_of(*peer);
  }
  if (!status) return status.why();
  took.calibrated = since.seconds();
  return took;
}

/// The first executor of a process creates its primitives; what oneDNN keeps makes later ones
/// cheaper. One thread builds it, so CPU time is what it takes on a core of its own.
result<void> measure_building(const teller& tell) {
  const auto what = gpt384();
  if (!what) return what.why();
  const double before = cpu_seconds();
  const auto profile = kernels::profile_of(what->job.spec);
  if (!profile) return profile.why();
  const double profiled = cpu_seconds();
  tell({what->name + ": CPU of its profile", profiled - before, "s", 0, true});
  const auto layers = static_cast<std::uint32_t>(profile->layers.size());
  const plan alone = test::plan_of_one(what->job.spec, layers);
  const auto built = kernels::executor_for(what->job.spec, alone, {1});
  if (!built) return built.why();
  tell({what->name + ": CPU of its primitives, memory and weights", cpu_seconds() - profiled, "s",
        0, true});
  return {};
}

}  // namespace

result<void> startup_bench(const teller& tell) {
  const test::temporary_folder folder;
  std::vector<double> answered;
  std::vector<double> calibrated;
  for (std::size_t i = 0; i < starts; ++i) {
    const auto took = start_once(folder);
    if (!took) return took.why();
    answered.push_back(took->answered);
    calibrated.push_back(took->calibrated);
  }
  tell({"node: from its start until it answers status", median(answered), "s", 0.5, false});
  tell({"node: from its start until it is calibrated", median(calibrated), "s", 0, true});
  return measure_building(tell);
}

}  // namespace perigee::bench
