// perigee: the command line.
#include "actors/cli/command.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>
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

int refused(std::string what) {
  const perigee::error why{perigee::errc::malformed, std::move(what)};
  return static_cast<int>(perigee::actors::refused(why, exit_code::usage));
}

/// What was printed into a full disk or to nobody was not said.
int written(exit_code code) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return static_cast<int>(code);
  fmt::print(stderr, "perigee: cannot write the output: {}\n", std::strerror(errno));
  return static_cast<int>(code == exit_code::fine ? exit_code::unreachable : code);
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
  if (std::find(argv + 1, argv + argc, std::string_view("--json")) != argv + argc)
    perigee::actors::refuse_in_json();
  if (argc > 1 && argv[1][0] != '-') {
    if (const auto [all, known] = commands_of(app, argv[1]); !known) {
      return refused(fmt::format("unknown command '{}'; there are {}", argv[1], all));
    }
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);
    return refused(fmt::format("{}; try `perigee {}--help`", e.what(),
                               argc > 1 && argv[1][0] != '-' ? std::string(argv[1]) + " " : ""));
  }
  return written(command());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::system_error& e) {  // of printing: nothing else lets one through
    fmt::print(stderr, "perigee: {}\n", e.what());
    return static_cast<int>(exit_code::unreachable);
  } catch (const std::exception& e) {
    fmt::print(stderr, "perigee: {}\n", e.what());
    return static_cast<int>(exit_code::usage);
  }
}
