// perigee: the command line.
#include "actors/cli/command.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <exception>
#include <string_view>
#include <utility>

namespace {

using perigee::actors::exit_code;

constexpr const char* about =
    "perigee trains neural networks on whatever machines are within reach, with no master.\n"
    "The plan never changes the answer: any partition gives the weights one machine would give.";

/// Returns the names of all commands, and whether `name` is one of them.
std::pair<std::string, bool> commands_of(const CLI::App& app, std::string_view name) {
  std::pair<std::string, bool> found{"", false};
  for (const auto* c : app.get_subcommands([](const CLI::App*) { return true; })) {
    found.first += (found.first.empty() ? "" : ", ") + c->get_name();
    found.second = found.second || c->get_name() == name;
  }
  return found;
}

int run(int argc, char** argv) {
  CLI::App app(about, "perigee");
  app.require_subcommand(1);
  app.set_version_flag("--version", "perigee 0.1.0");
  app.footer("Try `perigee testbed`, then `perigee help job`. Exit codes: `perigee help exit`.");
  perigee::actors::chosen command;
  perigee::actors::add_testbed(app, command);
  perigee::actors::add_node(app, command);
  perigee::actors::add_train(app, command);
  perigee::actors::add_status(app, command);
  perigee::actors::add_export(app, command);
  perigee::actors::add_eval(app, command);
  perigee::actors::add_inspect(app, command);
  perigee::actors::add_simulate(app, command);
  perigee::actors::add_plan(app, command);
  perigee::actors::add_explain(app, command);
  perigee::actors::add_help(app, command);
  if (argc > 1 && argv[1][0] != '-') {
    if (const auto [all, known] = commands_of(app, argv[1]); !known) {
      fmt::print(stderr, "perigee: unknown command '{}'; there are {}\n", argv[1], all);
      return static_cast<int>(exit_code::usage);
    }
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);
    fmt::print(stderr, "perigee: {}; try `perigee {}--help`\n", e.what(),
               argc > 1 && argv[1][0] != '-' ? std::string(argv[1]) + " " : "");
    return static_cast<int>(exit_code::usage);
  }
  return static_cast<int>(command());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "perigee: {}\n", e.what());
    return static_cast<int>(exit_code::usage);
  }
}
