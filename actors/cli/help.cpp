// perigee help: the pages that are too long for --help.
#include "actors/cli/command.hpp"
#include "actors/cli/fleet_file.hpp"
#include "actors/cli/job_file.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace perigee::actors {

namespace {

constexpr const char* exit_page =
    "Exit codes\n"
    "    0  all that was asked held\n"
    "    1  the job halted, or a digest differs from its verification\n"
    "    2  a flag, a job file, data or weights are wrong\n"
    "    3  an address is in use, a file or the output cannot be written, or no peer answers\n"
    "    4  the job does not fit the peers' memory, or the plan asked for cannot be made\n"
    "  130  ended by Ctrl-C or SIGTERM before it was done; a node that is told to end has done\n"
    "       what it is for and ends with 0\n";

exit_code run_help(const std::string& topic) {
  if (topic == "job") {
    fmt::print("{}", job_help());
  } else if (topic == "fleet") {
    fmt::print("{}", fleet_help());
  } else {
    fmt::print("{}", exit_page);
  }
  return exit_code::fine;
}

}  // namespace

void add_help(CLI::App& app, chosen& run) {
  auto topic = std::make_shared<std::string>();
  auto* c = app.add_subcommand(
      "help", "longer pages: job and fleet (every field of such a file), exit (exit codes)");
  c->footer("Example: perigee help job");
  c->add_option("TOPIC", *topic, "job, fleet or exit")
      ->required()
      ->check(CLI::IsMember({"job", "fleet", "exit"}));
  c->callback([topic, &run] { run = [topic] { return run_help(*topic); }; });
}

namespace {

bool refuses_in_json = false;  // set before any thread starts

}  // namespace

void refuse_in_json() { refuses_in_json = true; }

exit_code refused(const error& why, exit_code code) {
  if (refuses_in_json) {
    const nlohmann::json j{
        {"event", "refused"}, {"why", why.what}, {"exit_code", static_cast<int>(code)}};
    fmt::print("{}\n", j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  std::fflush(stdout);
  fmt::print(stderr, "perigee: {}\n", why.what);
  return code;
}

exit_code refused(const error& why) { return refused(why, exit_for(why.code)); }

}  // namespace perigee::actors
