// What a step costs on 1 to 4 peers, all CPU time of all processes counted, beside the same kernels
// in one plain loop.
//
// The two run by turns. Each round is a new swarm; its first step, which touches its memory first,
// does not count, and it is ended in the middle of a step, so that every step that counts begins
// and ends alike. Both sides make the digests of the new states; their cost is measured apart and
// taken from both.
#include "kernels/executor_factory.hpp"
#include "proto/digest.hpp"
#include "tests/bench/groups.hpp"
#include "tests/bench/measure.hpp"
#include "tests/bench/peers.hpp"
#include "tests/bench/workloads.hpp"
#include "tests/support/sequential_run.hpp"

#include <algorithm>

namespace perigee::bench {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t rounds = 3;
constexpr std::size_t steps_a_round = 4;  // 12 pairs
constexpr std::uint32_t peers_max = 4;
constexpr std::size_t digest_rounds = 11;
constexpr duration step_patience = 600s;

/// The kernels of a job in one loop of this process.
class plain_loop {
public:
  static result<plain_loop> of(const workload& what) {
    const auto profile = kernels::profile_of(what.job.spec);
    if (!profile) return profile.why();
    const auto layers = static_cast<std::uint32_t>(profile->layers.size());
    const plan alone = test::plan_of_one(what.job.spec, layers);
    auto built = kernels::executor_for(what.job.spec, alone, {1});
    if (!built) return built.why();
    plain_loop made;
    made.layers_ = layers;
    made.run_ = std::make_unique<test::sequential_run>(what.job.spec, alone,
                                                       [&](peer_id) { return std::move(*built); });
    made.step();  // touches the memory
    return made;
  }

  /// Returns the CPU seconds of one step more.
  double step() {
    const double before = cpu_seconds();
    (void)run_->step(done_++);
    return cpu_seconds() - before;
  }

  /// Returns the CPU seconds that the digests of all layers' states take.
  double digests() {
    std::vector<double> times;
    for (std::size_t i = 0; i < digest_rounds; ++i) {
      const double before = cpu_seconds();
      for (std::uint32_t l = 0; l < layers_; ++l) {
        const tensor_ref state{tensor_kind::state, done_, l, 0};
        const auto content = run_->at(0, 0).hold(state);
        CHECK(!content.empty());
        CHECK(digest_of(content) != digest128{});
        run_->at(0, 0).release(state);
      }
      times.push_back(cpu_seconds() - before);
    }
    return median(times);
  }

private:
  plain_loop() = default;
  std::unique_ptr<test::sequential_run> run_;
  std::uint64_t done_ = 0;
  std::uint32_t layers_ = 0;
};

/// A finished step, and the CPU seconds of all peers when the news of it came.
struct mark {
  std::uint64_t step = 0;
  double cpu = 0;
};

result<std::vector<mark>> watch(peers& swarm, const job_record& job, std::size_t count) {
  auto answer = swarm.first().ask(submission{job}, net::deadline_in(60s));
  if (!answer) return answer.why();
  const auto* told = std::get_if<receipt>(&*answer);
  if (told == nullptr || !told->accepted)
    return told == nullptr ? error{errc::malformed, "no receipt of a submission"} : told->why;
  if (auto asked = swarm.first().tell(subscription{job.job}, net::deadline_in(step_patience));
      !asked)
    return asked.why();
  std::vector<mark> marks;
  while (marks.size() < count) {
    const auto came = swarm.first().next(net::deadline_in(step_patience));
    if (!came) return came.why();
    const auto* news = std::get_if<progress>(&*came);
    if (news == nullptr) continue;
    if (news->phase == job_phase::halted) return news->why;
    if (news->step == 0 || (!marks.empty() && news->step <= marks.back().step)) continue;
    const auto used = swarm.cpu_seconds();
    if (!used) return used.why();
    marks.push_back({news->step, *used});
  }
  return marks;
}

/// Returns the CPU seconds of each of some steps on a new swarm.
result<std::vector<double>> steps_of_swarm(const workload& what, std::uint32_t count) {
  auto swarm = peers::start(count);
  if (!swarm) return swarm.why();
  job_record job = what.job;
  job.wanted.stages = count;
  const auto marks = watch(*swarm, job, steps_a_round + 1);
  if (!marks) return error{marks.why().code, marks.why().what + "; " + swarm->last_words()};
  std::vector<double> costs;
  for (std::size_t i = 1; i < marks->size(); ++i) {
    const mark& from = (*marks)[i - 1];
    const mark& to = (*marks)[i];
    costs.push_back((to.cpu - from.cpu) / static_cast<double>(to.step - from.step));
  }
  return costs;
}

result<void> compare(const workload& what, std::uint32_t count, plain_loop& plain,
                     const teller& tell) {
  const double digests = plain.digests();
  std::vector<double> ratios;
  std::vector<double> costs;
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<double> alone(steps_a_round);
    std::generate(alone.begin(), alone.end(), [&] { return plain.step(); });
    const auto together = steps_of_swarm(what, count);
    if (!together) return together.why();
    for (std::size_t i = 0; i < steps_a_round; ++i) {
      costs.push_back((*together)[i]);
      ratios.push_back(((*together)[i] - digests) / (alone[i] - digests));
    }
  }
  const auto name = what.name + ", " + std::to_string(count) + (count == 1 ? " peer" : " peers");
  tell({name + ": CPU a step", median(costs), "s", 0, true});
  tell({name + ": CPU, of a plain loop's", median(ratios), "", 1.03, false});
  return {};
}

result<void> measure(const workload& what, const teller& tell) {
  auto plain = plain_loop::of(what);
  if (!plain) return plain.why();
  std::vector<double> alone(steps_a_round);
  std::generate(alone.begin(), alone.end(), [&] { return plain->step(); });
  tell({what.name + ", plain loop: CPU a step", median(alone), "s", 0, true});
  tell({what.name + ": digests of a step's states", 1e3 * plain->digests(), "ms", 0, true});
  for (std::uint32_t count = 1; count <= peers_max; ++count) {
    if (auto done = compare(what, count, *plain, tell); !done) return done;
  }
  return {};
}

}  // namespace

result<void> steps_bench(const teller& tell) {
  const test::temporary_folder folder;
  for (const auto& what : {resnet18(folder), gpt384()}) {
    if (!what) return what.why();
    if (auto done = measure(*what, tell); !done) return done;
  }
  return {};
}

}  // namespace perigee::bench
