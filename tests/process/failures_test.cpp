// Bad input and bad luck: one clear line, a documented exit code, no hang and no orphan.
#include "tests/support/program.hpp"

#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

namespace {

using perigee::test::ended;
using perigee::test::eventually;
using perigee::test::last_event;
using perigee::test::run_perigee;
using perigee::test::temporary_folder;
using perigee::test::text_of;
using perigee::test::tiny_gpt;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string job_file(const temporary_folder& folder, const std::string& text) {
  return folder.write("job.toml", text);
}

/// A socket that listens on a loopback port for the life of this value.
class taken_port {
public:
  taken_port() : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof where;
    BOOST_REQUIRE(bind(fd_, reinterpret_cast<sockaddr*>(&where), size) == 0);
    BOOST_REQUIRE(listen(fd_, 1) == 0);
    BOOST_REQUIRE(getsockname(fd_, reinterpret_cast<sockaddr*>(&where), &size) == 0);
    address_ = "127.0.0.1:" + std::to_string(ntohs(where.sin_port));
  }
  ~taken_port() { close(fd_); }
  [[nodiscard]] const std::string& address() const { return address_; }

private:
  int fd_;
  std::string address_;
};

/// Waits for a node to say where it listens.
std::string address_of(const perigee::actors::child& node) {
  std::string address;
  BOOST_REQUIRE(eventually([&] {
    const auto told = last_event(text_of(node.log()), "listening");
    if (told.is_object()) address = told.value("address", "");
    return !address.empty();
  }));
  return address;
}

/// Starts a test bed of `peers` stages that trains until it is stopped, and waits for its first
/// steps.
perigee::actors::child endless_bed(const temporary_folder& folder, const std::string& peers) {
  auto bed =
      perigee::test::start_perigee(folder, "bed",
                                   {"testbed", "--job", job_file(folder, tiny_gpt(1000000)),
                                    "--peers", peers, "--stages", peers, "--no-verify", "--json"});
  BOOST_REQUIRE(
      eventually([&] { return last_event(text_of(bed.log()), "progress").value("step", 0U) > 2; }));
  return bed;
}

/// Returns a part of the command line of the peers that a test bed started.
std::string mark_of(const perigee::actors::child& bed) {
  return "--parent" + std::string(1, '\0') + std::to_string(bed.pid());
}

/// Returns how many processes have `word` in their command line, this one apart.
std::size_t processes_with(const std::string& word) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos ||
        name == std::to_string(getpid()))
      continue;
    count += contains(text_of(entry.path().string() + "/cmdline"), word) ? 1 : 0;
  }
  return count;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(failures)

BOOST_AUTO_TEST_CASE(a_port_in_use_is_named) {
  const temporary_folder folder;
  const taken_port port;
  const ended run = run_perigee(folder, {"node", "--listen", port.address()});
  BOOST_TEST(run.code == 3);
  BOOST_TEST(contains(run.output, "cannot listen on " + port.address() + ": "));
}

BOOST_AUTO_TEST_CASE(an_address_that_strangers_reach_needs_insecure) {
  const temporary_folder folder;
  const ended run = run_perigee(folder, {"node", "--listen", "0.0.0.0:7001"});
  BOOST_TEST(run.code == 2);
  BOOST_TEST(contains(run.output, "will not listen on 0.0.0.0:7001"));
  BOOST_TEST(contains(run.output, "--insecure"));
}

BOOST_AUTO_TEST_CASE(an_id_that_contradicts_the_address_is_refused) {
  const temporary_folder folder;
  const auto peers = folder.write("peers.toml",
                                  "[[peer]]\nid = 1\naddress = \"127.0.0.1:7001\"\n"
                                  "[[peer]]\nid = 2\naddress = \"127.0.0.1:7002\"\n");
  const ended run =
      run_perigee(folder, {"node", "--peers", peers, "--id", "2", "--listen", "127.0.0.1:7001"});
  BOOST_TEST(run.code == 2);
  BOOST_TEST(run.output == "perigee: " + peers +
                               ": peer 2 listens on 127.0.0.1:7002, not on 127.0.0.1:7001; "
                               "leave out --listen or --id\n");
}

BOOST_AUTO_TEST_CASE(an_unknown_field_of_a_job_is_refused_with_its_place) {
  const temporary_folder folder;
  auto job = tiny_gpt(1);
  job.replace(job.find("learning_rate"), 13, "learning_rat");
  const ended run = run_perigee(folder, {"train", "--local", job_file(folder, job)});
  BOOST_TEST(run.code == 2);
  BOOST_TEST(contains(run.output, "job.toml:18:1: "));
  BOOST_TEST(contains(run.output, "did you mean 'learning_rate'?"));
}

BOOST_AUTO_TEST_CASE(a_missing_job_file_and_missing_data_are_named) {
  const temporary_folder folder;
  const ended no_job = run_perigee(folder, {"train", "--local", folder.file("none.toml")});
  BOOST_TEST(no_job.code == 2);
  BOOST_TEST(contains(no_job.output, "none.toml"));
  auto job = tiny_gpt(1);
  job.replace(job.find("GPL-3"), 5, "GPL-9");
  const ended no_data = run_perigee(folder, {"train", "--local", job_file(folder, job)});
  BOOST_TEST(no_data.code == 2);
  BOOST_TEST(contains(no_data.output, "/usr/share/common-licenses/GPL-9"));
}

BOOST_AUTO_TEST_CASE(damaged_initial_weights_are_refused) {
  const temporary_folder folder;
  folder.write("w.safetensors", "not a tensor file");
  const ended run = run_perigee(
      folder, {"train", "--local",
               job_file(folder, "initial_weights = \"w.safetensors\"\n" + tiny_gpt(1))});
  BOOST_TEST(run.code == 2);
  BOOST_TEST(contains(run.output, "w.safetensors"));
}

BOOST_AUTO_TEST_CASE(a_model_that_does_not_fit_names_the_peer_and_the_bytes) {
  const temporary_folder folder;
  const ended run =
      run_perigee(folder, {"testbed", "--job", job_file(folder, tiny_gpt(1)), "--peers", "2",
                           "--stages", "2", "--memory", "20KiB", "--no-verify"});
  BOOST_TEST(run.code == 4);
  BOOST_TEST(contains(run.output, "short by "));
  BOOST_TEST(contains(run.output, "20.0 KiB"));
  BOOST_TEST((contains(run.output, "p1 ") || contains(run.output, "p2 ")));
}

BOOST_AUTO_TEST_CASE(a_loss_that_is_not_finite_stops_the_job_and_names_where) {
  const temporary_folder folder;
  auto job = tiny_gpt(50);
  job.replace(job.find("clip_norm = 1.0\n"), 16, "");
  job.replace(job.find("kind = \"adamw\"\nlearning_rate = 0.01"), 35,
              "kind = \"sgd\"\nlearning_rate = 1e30");
  const ended run = run_perigee(folder, {"testbed", "--job", job_file(folder, job), "--peers", "2",
                                         "--stages", "2", "--no-verify"});
  BOOST_TEST(run.code == 1);
  BOOST_TEST(contains(run.output,
                      "loss is not finite at step 2, micro-batch 0, layer blocks.0.attention"));
}

BOOST_AUTO_TEST_CASE(a_peer_that_is_killed_does_not_change_the_answer) {
  const temporary_folder folder;
  const ended run =
      run_perigee(folder, {"testbed", "--job", job_file(folder, tiny_gpt(30)), "--peers", "4",
                           "--stages", "4", "--kill", "3@10", "--verify", "--json"});
  BOOST_TEST(run.code == 0, run.output);
  BOOST_TEST(contains(run.output, "p3 was lost ("));
  BOOST_TEST(contains(run.output, " micro-batches of "));
  const auto report = last_event(run.output, "report");
  BOOST_TEST(report.value("equal", false));
  BOOST_TEST(report.value("steps", 0U) == 30U);
  for (const auto& p : report["peers"]) BOOST_TEST(p.value("peer", "") != "p3");
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_on_those_that_are_left_is_waited_for) {
  const temporary_folder folder;
  auto bed = perigee::test::start_perigee(
      folder, "bed",
      {"testbed", "--job", job_file(folder, tiny_gpt(1000000)), "--peers", "2", "--stages", "2",
       "--memory", "240KiB", "--kill", "2@3", "--no-verify", "--json"});
  BOOST_TEST(eventually([&] {
               return contains(text_of(bed.log()),
                               "waiting for a peer to come: no plan fits: p1 would need ");
             }),
             text_of(bed.log()));
  kill(bed.pid(), SIGINT);
  BOOST_TEST(bed.wait(std::chrono::seconds(30)).value_or(-1) == 130);
}

BOOST_AUTO_TEST_CASE(a_kill_of_nobody_is_refused) {
  const temporary_folder folder;
  for (const std::string kill : {"1@5", "5@5", "3", "3@", "x@5", "3@5s"}) {
    const ended run = run_perigee(folder, {"testbed", "--peers", "4", "--kill", kill});
    BOOST_TEST(run.code == 2);
    BOOST_TEST(contains(run.output, "--kill " + kill));
  }
}

BOOST_AUTO_TEST_CASE(ctrl_c_leaves_no_orphans) {
  const temporary_folder folder;
  auto bed = endless_bed(folder, "3");
  const auto mark = mark_of(bed);
  BOOST_TEST(processes_with(mark) == 3U);
  kill(bed.pid(), SIGINT);
  BOOST_TEST(bed.wait(std::chrono::seconds(30)).value_or(-1) == 130);
  BOOST_TEST(eventually([&] { return processes_with(mark) == 0; }));
}

BOOST_AUTO_TEST_CASE(ctrl_c_while_the_peers_start_leaves_no_orphans) {
  const temporary_folder folder;
  auto bed = perigee::test::start_perigee(
      folder, "bed", {"testbed", "--job", job_file(folder, tiny_gpt(1000000)), "--peers", "3"});
  const auto mark = mark_of(bed);
  BOOST_REQUIRE(eventually([&] { return processes_with(mark) > 0; }));
  kill(bed.pid(), SIGINT);
  BOOST_TEST(bed.wait(std::chrono::seconds(30)).value_or(-1) == 130);
  BOOST_TEST(eventually([&] { return processes_with(mark) == 0; }));
  BOOST_TEST(!contains(text_of(bed.log()), "perigee: "));
}

BOOST_AUTO_TEST_CASE(ctrl_c_while_it_verifies_leaves_no_orphans) {
  const temporary_folder folder;
  const auto job = job_file(folder, tiny_gpt(200));
  auto bed = perigee::test::start_perigee(
      folder, "bed", {"testbed", "--job", job, "--peers", "2", "--verify", "--json"});
  BOOST_REQUIRE(
      eventually([&] { return last_event(text_of(bed.log()), "progress").value("step", 0U) > 0; }));
  // Who verifies opens the job's file again, and gets no further than that.
  std::filesystem::remove(job);
  BOOST_REQUIRE(mkfifo(job.c_str(), 0600) == 0);
  BOOST_REQUIRE(
      eventually([&] { return processes_with("--local" + std::string(1, '\0') + job) > 0; }));
  kill(bed.pid(), SIGINT);
  BOOST_TEST(bed.wait(std::chrono::seconds(30)).value_or(-1) == 130);
  BOOST_TEST(eventually([&] { return processes_with(job) == 0; }));
}

BOOST_AUTO_TEST_CASE(a_test_bed_that_is_killed_leaves_no_orphans) {
  const temporary_folder folder;
  auto bed = endless_bed(folder, "2");
  const auto mark = mark_of(bed);
  kill(bed.pid(), SIGKILL);
  bed.wait(std::chrono::seconds(10));
  BOOST_TEST(eventually([&] { return processes_with(mark) == 0; }));
}

BOOST_AUTO_TEST_CASE(who_looks_away_does_not_stop_the_job) {
  const temporary_folder folder;
  auto node =
      perigee::test::start_perigee(folder, "node", {"node", "--listen", "127.0.0.1:0", "--json"});
  const auto address = address_of(node);
  const auto job = job_file(folder, tiny_gpt(400));
  auto train =
      perigee::test::start_perigee(folder, "train", {"train", job, "--via", address, "--json"});
  BOOST_REQUIRE(eventually(
      [&] { return last_event(text_of(train.log()), "progress").value("step", 0U) > 0; }));
  kill(train.pid(), SIGINT);
  BOOST_TEST(train.wait(std::chrono::seconds(10)).value_or(-1) == 0);
  const ended again = run_perigee(folder, {"train", job, "--via", address, "--json"});
  BOOST_TEST(again.code == 0);
  BOOST_TEST(last_event(again.output, "progress").value("step", 0U) == 400U);
  const ended exported =
      run_perigee(folder, {"export", job, "--via", address, "--out", folder.file("w.safetensors")});
  BOOST_TEST(exported.code == 0);
  BOOST_TEST(contains(text_of(folder.file("w.safetensors")), "blocks.1.mlp_out.weight"));
  const ended status = run_perigee(folder, {"status", "--via", address});
  BOOST_TEST(status.code == 0);
  BOOST_TEST(contains(status.output, "finished, step 400/400"));
}

BOOST_AUTO_TEST_CASE(wrong_words_on_the_command_line_are_named) {
  const temporary_folder folder;
  const ended command = run_perigee(folder, {"tran"});
  BOOST_TEST(command.code == 2);
  BOOST_TEST(contains(command.output, "unknown command 'tran'; there are testbed, node, train"));
  const ended flag = run_perigee(folder, {"testbed", "--peer", "3"});
  BOOST_TEST(flag.code == 2);
  BOOST_TEST(contains(flag.output, "--peer; try `perigee testbed --help`"));
}

BOOST_AUTO_TEST_CASE(a_simulated_fleet_gives_the_value_of_one_machine) {
  const temporary_folder folder;
  const auto job = job_file(folder, tiny_gpt(2) + "[plan]\nstages = 3\n");
  const ended run = run_perigee(folder, {"simulate", job, "--peers", "5", "--seed", "3", "--json"});
  BOOST_TEST(run.code == 0);
  BOOST_TEST(last_event(run.output, "simulation").value("equal", false));
  const ended again =
      run_perigee(folder, {"simulate", job, "--peers", "5", "--seed", "3", "--json"});
  BOOST_TEST(again.output == run.output);
}

BOOST_AUTO_TEST_CASE(nobody_there_is_said_so) {
  const temporary_folder folder;
  const taken_port silent;  // accepts and never speaks
  const ended run = run_perigee(folder, {"status", "--via", silent.address()});
  BOOST_TEST(run.code == 3);
  BOOST_TEST(contains(run.output, silent.address()), run.output);
}

BOOST_AUTO_TEST_SUITE_END()
