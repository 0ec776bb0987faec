#include "tests/support/program.hpp"

#include <boost/test/unit_test.hpp>

#include <poll.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>

namespace perigee::test {

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

actors::child start_perigee(const temporary_folder& folder, const std::string& name,
                            std::vector<std::string> arguments) {
  // What a program that is killed leaves behind goes with the folder.
  arguments.insert(arguments.begin(),
                   {"/usr/bin/env", "TMPDIR=" + folder.file(""), PERIGEE_BINARY});
  auto started = actors::child::start(arguments, folder.file(name + ".log"));
  BOOST_REQUIRE(static_cast<bool>(started));
  return std::move(*started);
}

ended run_perigee(const temporary_folder& folder, std::vector<std::string> arguments,
                  duration at_most) {
  auto program = start_perigee(folder, "run", std::move(arguments));
  const auto code = program.wait(at_most);
  program.stop();
  return {code.value_or(-1), text_of(program.log())};
}

bool eventually(const std::function<bool()>& done, duration at_most) {
  const auto until = std::chrono::steady_clock::now() + at_most;
  while (!done()) {
    if (std::chrono::steady_clock::now() > until) return false;
    poll(nullptr, 0, 10);  // lets others run
  }
  return true;
}

nlohmann::json last_event(const std::string& output, const std::string& event) {
  std::istringstream in(output);
  nlohmann::json last = nlohmann::json::object();
  for (std::string line; std::getline(in, line);) {
    auto j = nlohmann::json::parse(line, nullptr, false);
    if (j.is_object() && j.value("event", "") == event) last = std::move(j);
  }
  return last;
}

std::string shared_data(const std::string& name) {
  const char* folder = std::getenv("PERIGEE_DATA");
  return std::filesystem::absolute(std::string(folder ? folder : "../shared/data") + "/" + name)
      .lexically_normal();
}

std::string tiny_gpt(std::uint64_t steps) {
  return "seed = 7\nsteps = " + std::to_string(steps) +
         "\nmini_batch = 8\nmicro_batch = 1\nclip_norm = 1.0\n"
         "[model]\nkind = \"gpt\"\nblocks = 2\nwidth = 16\nheads = 2\ncontext = 8\n"
         "[data]\nkind = \"text\"\npath = \"/usr/share/common-licenses/GPL-3\"\nvalidation = 0.1\n"
         "[optimizer]\nkind = \"adamw\"\nlearning_rate = 0.01\n";
}

std::string tiny_resnet(std::uint64_t steps) {
  return "seed = 7\nsteps = " + std::to_string(steps) +
         "\nmini_batch = 16\nmicro_batch = 2\n"
         "[model]\nkind = \"resnet\"\nstages = [1, 1]\nwidth = 8\n"
         "[data]\nkind = \"csv\"\npath = \"" +
         shared_data("digits/digits.csv.gz") +
         "\"\nvalidation_count = 100\nscale = 0.0625\n"
         "[optimizer]\nkind = \"sgd\"\nlearning_rate = 0.05\nmomentum = 0.9\n";
}

std::string tiny_mlp(std::uint64_t steps) {
  return "seed = 7\nsteps = " + std::to_string(steps) +
         "\nmini_batch = 32\nmicro_batch = 4\n"
         "[model]\nkind = \"mlp\"\nhidden = [24, 24, 24]\n"
         "[data]\nkind = \"csv\"\npath = \"" +
         shared_data("digits/digits.csv.gz") +
         "\"\nvalidation_count = 100\nscale = 0.0625\n"
         "[optimizer]\nkind = \"adam\"\nlearning_rate = 0.005\n";
}

}  // namespace perigee::test
