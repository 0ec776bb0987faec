#include "net/sim/simulate.hpp"

#include "net/sim/one_machine.hpp"
#include "proto/base/random.hpp"

#include <algorithm>

namespace perigee::net {

namespace {

using namespace std::chrono_literals;

constexpr duration submitted_after = 10ms;

std::uint64_t drawn(random& r, const between<std::uint64_t>& range) {
  return range.least + r.below(range.most - range.least + 1);
}

world_config world_of(const fleet& of, std::uint64_t seed, const simulation_options& options) {
  world_config config;
  config.seed = seed;
  config.jitter_permille = options.jitter_permille;
  config.how = options.how;
  for (std::uint32_t p = 0; p < of.count; ++p) {
    random r(seed, purpose::simulation, p);
    simulated_peer peer;
    peer.self.peer = {std::uint64_t{p} + 1};
    peer.self.name = text(peer.self.peer);
    peer.self.incarnation = 1;
    peer.self.workers = static_cast<std::uint32_t>(drawn(r, {of.workers.least, of.workers.most}));
    peer.self.memory_offer = {drawn(r, of.memory)};
    peer.self.fingerprint = 1;
    const std::uint64_t rate = drawn(r, of.operations_per_second);
    peer.self.rate = {rate, rate, rate / 4, rate / 4};
    // What it does is not quite what it measured.
    const std::uint64_t share = drawn(r, {900, 1100});
    for (std::size_t c = 0; c < work_class_count; ++c) {
      peer.actual[c] = peer.self.rate[c] / 1000 * share;
    }
    peer.calibration = duration{static_cast<duration::rep>(drawn(r, {1'000'000, 50'000'000}))};
    config.peers.push_back(std::move(peer));
  }
  config.links = [of, seed](std::uint32_t a, std::uint32_t b) {
    random r(seed, purpose::simulation, (std::uint64_t{a + 1} << 32U) | b);
    const auto least = static_cast<std::uint64_t>(of.latency.least.count());
    const auto most = static_cast<std::uint64_t>(of.latency.most.count());
    return link_character{duration{static_cast<duration::rep>(drawn(r, {least, most}))},
                          drawn(r, of.link_bytes_per_second)};
  };
  return config;
}

bool is_over(const progress& p) {
  return p.phase == job_phase::finished || p.phase == job_phase::halted;
}

/// Everybody who lives knows that the job is over.
bool all_over(const world& w) {
  for (std::size_t p = 0; p < w.size(); ++p) {
    if (w.alive(p) && (!w.news(p) || !is_over(*w.news(p)))) return false;
  }
  return true;
}

/// Says what each living peer knows of why the job is not over.
error unfinished(const world& w, duration limit) {
  std::string who;
  for (std::size_t p = 0; p < w.size(); ++p) {
    if (!w.alive(p) || (w.news(p) && is_over(*w.news(p)))) continue;
    who += (who.empty() ? "" : ", ") + text(w.peer(p).self().peer);
    const status_report status = w.peer(p).machine().report();
    if (status.jobs.empty()) {
      who += " (never heard of it)";
    } else if (const std::string& why = status.jobs.front().why.what; !why.empty()) {
      who += " (" + why + ")";
    }
  }
  return {errc::timed_out, "the job is not over after " + text(limit) + " for " + who};
}

/// The news of the participant that knows the most; of those the first.
const progress& best_news(const world& w) {
  const progress* best = nullptr;
  for (std::size_t p = 0; p < w.size(); ++p) {
    if (!w.alive(p)) continue;
    const progress& news = *w.news(p);
    const bool more = best == nullptr || news.last.step > best->last.step ||
                      (news.last.step == best->last.step && news.work.size() > best->work.size());
    if (more) best = &news;
  }
  return *best;
}

simulation_report report_of(const world& w, const job_record& job, const model_profile& model) {
  simulation_report report;
  const progress& news = best_news(w);
  report.phase = news.phase;
  report.why = news.why;
  report.steps = news.step;
  report.current = news.current;
  report.last = news.last;
  report.work = news.work;
  report.measured_step = news.measured_step;
  specification done = job.spec;
  done.steps = news.last.step;
  report.expected = one_machine(done, model).states;
  report.equal = news.last.step > 0 && news.last.states == report.expected;
  report.took = w.now().time_since_epoch();
  report.events = w.events();
  report.messages = w.messages();
  report.tensors = w.tensors();
  report.trace_hash = w.course().hash();
  report.spans = w.course().spans();
  report.lines = w.course().lines();
  for (std::size_t p = 0; p < w.size(); ++p) report.peers.push_back(w.peer(p).self());
  return report;
}

}  // namespace

result<simulation_report> simulate(const job_record& job, const model_profile& model,
                                   const fleet& of, std::uint64_t seed,
                                   const simulation_options& options) {
  if (of.count == 0) return error{errc::malformed, "a fleet of 0 peers"};
  executor_factory executors = options.executors;
  if (!executors) {
    executors = [&](const specification& spec, const plan& p, peer_id self) {
      return result<std::unique_ptr<executor>>(
          std::make_unique<value_executor>(spec, model, p, self, options.values));
    };
  }
  world w(world_of(of, seed, options), std::move(executors),
          [&](const specification&) { return result<model_profile>(model); });
  const instant start{};
  w.submit({1 + seed % of.count}, job, start + submitted_after);
  for (const departure& d : options.departures) {
    if (d.peer >= of.count) {
      return error{errc::malformed, "peer " + std::to_string(d.peer) + " departs from a fleet of " +
                                        std::to_string(of.count)};
    }
    w.kill({std::uint64_t{d.peer} + 1}, start + d.after);
  }
  if (!w.run([&] { return all_over(w); }, start + options.limit)) {
    return unfinished(w, options.limit);
  }
  if (!w.anybody()) return error{errc::unavailable, "every peer of the fleet is gone"};
  simulation_report report = report_of(w, job, model);
  report.seed = seed;
  return report;
}

}  // namespace perigee::net
