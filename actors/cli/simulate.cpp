// perigee simulate: the same peers, in virtual time, on a fleet that only exists as numbers.
#include "net/sim/simulate.hpp"

#include "actors/cli/command.hpp"
#include "actors/cli/load_job.hpp"
#include "actors/cli/view.hpp"
#include "kernels/executor_factory.hpp"
#include "net/sim/timeline.hpp"
#include "proto/digest.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace perigee::actors {

namespace {

struct simulate_options {
  std::string job;
  std::uint32_t peers = 4;
  std::uint64_t seed = 1;
  std::uint32_t workers = 1;
  bool timeline = true;
  bool json = false;
};

void print_people(const simulate_options& o, const net::simulation_report& r) {
  if (o.timeline) {
    fmt::print("{}", net::timeline(r));
  } else {
    fmt::print("{} peers, seed {}\n{}{}", o.peers, o.seed, plan_lines(r.current),
               work_table(r.work));
  }
  fmt::print("a step predicted {}, took {}\nvalue digest {}: {}\n", text(r.current.predicted_step),
             text(r.measured_step), text(combined(r.last.states)),
             r.equal ? "that of one machine" : "NOT that of one machine");
}

void print_json(const simulate_options& o, const net::simulation_report& r) {
  const nlohmann::json j{{"event", "simulation"},
                         {"peers", o.peers},
                         {"seed", o.seed},
                         {"steps", r.steps},
                         {"plan", text(r.current)},
                         {"virtual_s", std::chrono::duration<double>(r.took).count()},
                         {"step_s", std::chrono::duration<double>(r.measured_step).count()},
                         {"events", r.events},
                         {"trace", fmt::format("{:016x}", r.trace_hash)},
                         {"digest", text(combined(r.last.states))},
                         {"equal", r.equal}};
  fmt::print("{}\n", j.dump());
}

exit_code run_simulate(const simulate_options& o) {
  auto job = load_job(o.job);
  if (!job) return refused(job.why(), exit_code::usage);
  auto profile = kernels::profile_of(job->spec);
  if (!profile) return refused(profile.why(), exit_code::usage);
  net::fleet fleet;
  fleet.count = o.peers;
  fleet.workers = {1, o.workers};
  const auto report = net::simulate(*job, *profile, fleet, o.seed);
  if (!report) return refused(report.why());
  if (report->phase == job_phase::halted) return refused(report->why);
  if (o.json) {
    print_json(o, *report);
  } else {
    print_people(o, *report);
  }
  return report->equal ? exit_code::fine : exit_code::failed;
}

}  // namespace

void add_simulate(CLI::App& app, chosen& run) {
  auto o = std::make_shared<simulate_options>();
  auto* c = app.add_subcommand("simulate", "runs a job's peers in virtual time on a drawn fleet");
  c->footer("Example: perigee simulate job.toml --peers 16 --seed 7");
  c->add_option("JOB", o->job, "job file; its model's profile is used, nothing is computed")
      ->required();
  c->add_option("--peers", o->peers, "peers of the fleet")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  c->add_option("--seed", o->seed, "what speeds, links and delays are drawn from")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  c->add_option("--workers", o->workers, "most workers a peer may have")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  c->add_flag("!--no-timeline", o->timeline, "leave the timeline out");
  c->add_flag("--json", o->json, "one JSON object");
  c->callback([o, &run] { run = [o] { return run_simulate(*o); }; });
}

}  // namespace perigee::actors
