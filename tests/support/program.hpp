// Running the real `perigee` program in tests: to its end, or as a peer that is watched and always
// ended.
#pragma once

#include "actors/cli/child.hpp"
#include "tests/support/temporary_folder.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace perigee::test {

struct ended {
  int code = -1;
  std::string output;  // standard output and error together
};

/// Returns the whole file, empty if there is none.
std::string text_of(const std::string& path);

/// Starts `perigee ARGUMENTS…` with its output in `folder`/`name`.log and its temporary files in
/// `folder`.
actors::child start_perigee(const temporary_folder& folder, const std::string& name,
                            std::vector<std::string> arguments);

/// Runs it to its end; a program that does not end in time is stopped and has code -1.
ended run_perigee(const temporary_folder& folder, std::vector<std::string> arguments,
                  duration at_most = std::chrono::seconds(240));

/// Waits until `done` holds, looking again each time a little later; returns whether it came to
/// hold.
bool eventually(const std::function<bool()>& done, duration at_most = std::chrono::seconds(60));

/// Returns the last JSON object of the output whose "event" is `event`; empty if there is none.
nlohmann::json last_event(const std::string& output, const std::string& event);

/// Returns the absolute path of a file of the shared test data (PERIGEE_DATA, default
/// ../shared/data).
std::string shared_data(const std::string& name);

/// Job files that train in well under a second a process.
std::string tiny_gpt(std::uint64_t steps);
std::string tiny_resnet(std::uint64_t steps);
std::string tiny_mlp(std::uint64_t steps);

}  // namespace perigee::test
