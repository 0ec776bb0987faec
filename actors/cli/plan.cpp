// perigee plan, perigee explain: what the planner would do with a job on a fleet that is described,
// and why.
#include "actors/cli/command.hpp"
#include "actors/cli/fleet_file.hpp"
#include "actors/cli/load_job.hpp"
#include "actors/cli/plan_report.hpp"
#include "kernels/executor_factory.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace perigee::actors {

namespace {

struct plan_options {
  std::string job;
  std::string fleet;
  std::string svg;
  bool json = false;
  bool why = false;
  bool budget = false;
};

result<void> write_file(const std::string& path, const std::string& content) {
  errno = 0;
  std::ofstream out(path, std::ios::binary);
  out << content;
  out.close();
  if (out) return {};
  return error{errc::io, fmt::format("cannot write {}: {}", path, std::strerror(errno))};
}

exit_code run_plan(const plan_options& o) {
  const auto described = read_fleet(o.fleet);
  if (!described) return refused(described.why());
  const auto job = load_job(o.job);
  if (!job) return refused(job.why());
  const auto profile = kernels::profile_of(job->spec);
  if (!profile) return refused(profile.why());
  const planner::fleet swarm(*described);
  const planner::fleet_request request{&*profile, &swarm, &job->wanted, job->job, {}};
  const auto made = planner::plan_fleet(request);
  if (!made) return refused(made.why());
  if (o.json) {
    fmt::print("{}", plan_json(request, *made));
  } else {
    fmt::print("{}", plan_table(request, *made));
  }
  if (o.why) fmt::print("\n{}", explanation_text(planner::explain(request, *made, *described)));
  if (o.budget) fmt::print("\n{}", budget_table(request, *made));
  if (o.svg.empty()) return exit_code::fine;
  if (const auto done = write_file(o.svg, plan_svg(request, *made)); !done)
    return refused(done.why());
  return exit_code::fine;
}

CLI::App* add_common(CLI::App& app, plan_options& o, const char* name, const char* about) {
  auto* c = app.add_subcommand(name, about);
  c->add_option("JOB", o.job, "job file; its model's profile is used, nothing is computed")
      ->required();
  c->add_option("--fleet", o.fleet, "fleet file: peers and links; see `perigee help fleet`")
      ->required();
  return c;
}

}  // namespace

void add_plan(CLI::App& app, chosen& run) {
  auto o = std::make_shared<plan_options>();
  auto* c = add_common(app, *o, "plan", "plans a job for a described fleet: a what-if");
  c->footer("Example: perigee plan job.toml --fleet fleet.toml --svg plan.svg");
  c->add_flag("--json", o->json, "one JSON object");
  c->add_flag("--budget", o->budget, "what less memory for activations would cost: a what-if");
  c->add_option("--svg", o->svg, "file for a picture: lanes over time, memory against offers");
  c->callback([o, &run] { run = [o] { return run_plan(*o); }; });
}

void add_explain(CLI::App& app, chosen& run) {
  auto o = std::make_shared<plan_options>();
  o->why = true;
  auto* c = add_common(app, *o, "explain",
                       "says why the plan for a described fleet is as it is, and what would help");
  c->footer("Example: perigee explain job.toml --fleet fleet.toml");
  c->callback([o, &run] { run = [o] { return run_plan(*o); }; });
}

}  // namespace perigee::actors
