// What a user may get wrong on the command line or ask for in files, and what the shell gets back.
#include "tests/support/program.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace {

using perigee::test::ended;
using perigee::test::eventually;
using perigee::test::last_event;
using perigee::test::run_perigee;
using perigee::test::temporary_folder;
using perigee::test::tiny_gpt;
using perigee::test::tiny_resnet;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::vector<pid_t> children_of(pid_t parent) {
  const auto id = std::to_string(parent);
  std::ifstream in("/proc/" + id + "/task/" + id + "/children");
  std::vector<pid_t> all;
  for (pid_t child = 0; in >> child;) all.push_back(child);
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(command_line)

BOOST_AUTO_TEST_CASE(a_cap_of_the_instruction_set_holds_in_every_process) {
  const temporary_folder folder;
  const auto job = folder.write("job.toml", "isa = \"avx\"\n" + tiny_resnet(3));
  const ended run = run_perigee(folder, {"testbed", "--job", job, "--peers", "2", "--stages", "2"});
  BOOST_TEST(run.code == 0, run.output);
  BOOST_TEST(contains(run.output, "equal: the plan did not change the answer"), run.output);
}

BOOST_AUTO_TEST_CASE(initial_weights_of_another_model_are_refused_before_anything_runs) {
  const temporary_folder folder;
  const auto first = folder.write("first.toml", tiny_gpt(1));
  const ended made =
      run_perigee(folder, {"train", "--local", first, "--out", folder.file("w.safetensors")});
  BOOST_REQUIRE(made.code == 0);
  const auto other =
      folder.write("other.toml", "initial_weights = \"w.safetensors\"\n" + tiny_resnet(1));
  const ended run = run_perigee(folder, {"testbed", "--job", other, "--peers", "2"});
  BOOST_TEST(run.code == 2);
  BOOST_TEST(contains(run.output, folder.file("w.safetensors") + ": weights: no tensor "),
             run.output);
}

BOOST_AUTO_TEST_CASE(a_place_that_cannot_be_written_is_refused_before_training) {
  const temporary_folder folder;
  const auto job = folder.write("job.toml", tiny_gpt(1000000));
  const auto pipe = folder.file("pipe");
  BOOST_REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string command : {"train", "testbed"}) {
    std::vector<std::string> words{command, command == "train" ? "--local" : "--job", job};
    words.insert(words.end(), {"--out", pipe});
    const ended run = run_perigee(folder, words);
    BOOST_TEST(run.code == 3);
    BOOST_TEST(run.output == "perigee: write " + pipe + ": not a regular file\n");
  }
  BOOST_TEST(std::filesystem::is_fifo(pipe));
}

BOOST_AUTO_TEST_CASE(flags_are_checked_as_the_job_file_is) {
  const temporary_folder folder;
  const auto job = folder.write("job.toml", tiny_gpt(1));
  const ended run = run_perigee(
      folder, {"testbed", "--job", job, "--peers", "4", "--stages", "2", "--replicas", "1,2,1"});
  BOOST_TEST(run.code == 2);
  BOOST_TEST(run.output == "perigee: --replicas: replicas of 3 stages, but stages = 2\n");
}

BOOST_AUTO_TEST_CASE(numbers_below_zero_are_no_sizes_and_no_seeds) {
  const temporary_folder folder;
  const auto job = folder.write("job.toml", tiny_gpt(1));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"train", "--local", job, "--memory", "-1"},
        {"node", "--memory=-1GiB"},
        {"node", "--id", "0"},
        {"simulate", job, "--seed", "-1"}}) {
    const ended run = run_perigee(folder, words);
    BOOST_TEST(run.code == 2, run.output);
    BOOST_TEST(run.output.starts_with("perigee: --"), run.output);
  }
}

BOOST_AUTO_TEST_CASE(a_failure_is_an_object_for_programs) {
  const temporary_folder folder;
  const auto gone = folder.file("none.toml");
  const ended run = run_perigee(folder, {"train", "--local", gone, "--json"});
  BOOST_TEST(run.code == 2);
  const auto told = last_event(run.output, "refused");
  BOOST_REQUIRE(told.contains("why"));
  BOOST_TEST(told["exit_code"] == 2);
  BOOST_TEST(contains(told["why"], gone));
  const ended words = run_perigee(folder, {"status", "--no-such-flag", "--json"});
  BOOST_TEST(last_event(words.output, "refused")["exit_code"] == 2);
}

BOOST_AUTO_TEST_CASE(the_default_job_fits_fewer_peers_and_any_path) {
  const temporary_folder folder;
  const auto text = folder.write("it's a \"te\\xt\".txt", std::string(4000, 'a') + "bcdefgh\n");
  const ended run = run_perigee(
      folder, {"testbed", "--peers", "2", "--steps", "2", "--text", text, "--no-verify"});
  BOOST_TEST(run.code == 0, run.output);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_printed_is_a_failure) {
  const temporary_folder folder;
  const std::string program = PERIGEE_BINARY;
  const int status =
      std::system(("'" + program + "' help job >/dev/full 2>'" + folder.file("log") + "'").c_str());
  BOOST_TEST(WEXITSTATUS(status) == 3);
  BOOST_TEST(contains(perigee::test::text_of(folder.file("log")), "No space left on device"));
}

BOOST_AUTO_TEST_CASE(a_peer_that_dies_at_the_start_is_named_or_done_without) {
  const temporary_folder folder;
  const auto job = folder.write("job.toml", tiny_gpt(20));
  auto bed = perigee::test::start_perigee(folder, "bed",
                                          {"testbed", "--job", job, "--peers", "3", "--no-verify"});
  BOOST_REQUIRE(eventually([&] { return children_of(bed.pid()).size() == 3; }));
  kill(children_of(bed.pid()).back(), SIGKILL);
  BOOST_TEST(eventually([&] { return bed.ended().has_value(); }));
  const auto said = perigee::test::text_of(bed.log());
  if (*bed.ended() == 0) return;  // it trained already: the others have gone on
  BOOST_TEST(contains(said, "p3 ended with exit code 137"), said);
}

BOOST_AUTO_TEST_SUITE_END()
