// One command of the command line: what it adds to the parser, and what runs when it is named.
#pragma once

#include "actors/cli/exit_code.hpp"

#include <CLI/App.hpp>

#include <functional>

namespace perigee::actors {

/// Set by the command that was named; main runs it after parsing.
using chosen = std::function<exit_code()>;

void add_node(CLI::App& app, chosen& run);
void add_train(CLI::App& app, chosen& run);
void add_testbed(CLI::App& app, chosen& run);
void add_status(CLI::App& app, chosen& run);
void add_export(CLI::App& app, chosen& run);
void add_eval(CLI::App& app, chosen& run);
void add_inspect(CLI::App& app, chosen& run);
void add_simulate(CLI::App& app, chosen& run);
void add_plan(CLI::App& app, chosen& run);
void add_explain(CLI::App& app, chosen& run);
void add_help(CLI::App& app, chosen& run);

/// From now on `refused` prints one JSON object on standard output as well.
void refuse_in_json();

/// Prints `perigee: what` on standard error and returns the exit code for it, or `code`.
exit_code refused(const error& why);
exit_code refused(const error& why, exit_code code);

}  // namespace perigee::actors
