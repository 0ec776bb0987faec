// Real learning: four peers teach a small transformer Shakespeare's letters.
#include "actors/cli/child.hpp"
#include "tests/bench/groups.hpp"
#include "tests/bench/measure.hpp"
#include "tests/support/temporary_folder.hpp"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <sstream>

namespace perigee::bench {

namespace {

using namespace std::chrono_literals;

constexpr duration patience = 3600s;

std::string text_path() {
  const char* folder = std::getenv("PERIGEE_DATA");
  return std::filesystem::absolute(std::string(folder ? folder : "../shared/data") +
                                   "/text/tinyshakespeare.txt")
      .lexically_normal();
}

std::string job_on(const std::string& text) {
  return "seed = 1\nsteps = 1000\nmini_batch = 16\nmicro_batch = 2\nclip_norm = 1.0\n"
         "[model]\nkind = \"gpt\"\nblocks = 4\nwidth = 128\nheads = 4\ncontext = 64\n"
         "[data]\nkind = \"text\"\npath = \"" +
         text +
         "\"\nvalidation = 0.1\n"
         "[optimizer]\nkind = \"adamw\"\nlearning_rate = 0.002\nbeta2 = 0.99\nweight_decay = 0.1\n"
         "[rate]\nkind = \"cosine\"\nwarmup_steps = 50\nfloor = 0.1\n";
}

/// Returns the report that a test bed printed; empty if there is none.
nlohmann::json report_in(const std::string& output) {
  std::istringstream in(output);
  for (std::string line; std::getline(in, line);) {
    auto event = nlohmann::json::parse(line, nullptr, false);
    if (event.is_object() && event.value("event", "") == "report") return event;
  }
  return nlohmann::json::object();
}

}  // namespace

result<void> learning_bench(const teller& tell) {
  const auto text = text_path();
  if (!std::filesystem::exists(text)) {
    return error{errc::unavailable,
                 text + " is not there; name the folder that holds text/ with PERIGEE_DATA"};
  }
  const test::temporary_folder folder;
  const auto job = folder.write("job.toml", job_on(text));
  const stopwatch since;
  auto program = actors::child::start({PERIGEE_BINARY, "testbed", "--peers", "4", "--stages", "4",
                                       "--no-verify", "--json", "--job", job},
                                      folder.file("testbed.log"));
  if (!program) return program.why();
  const auto code = program->wait(patience);
  const double seconds = since.seconds();
  const auto output = test::content_of(program->log());
  if (code != 0) return error{errc::unavailable, "the test bed failed: " + output};
  const auto loss = report_in(output).value("validation_loss", 1e9);
  const std::string name = "GPT (4 blocks, d128, T64, 1000 steps) on tinyshakespeare, 4 peers";
  tell({name + ": validation loss", loss, "", 2.1, false});
  tell({name + ": start to report", seconds, "s", 0, true});
  return {};
}

}  // namespace perigee::bench
