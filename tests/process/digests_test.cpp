// The promise, with real processes: whatever the plan, the digest is that of one process.
#include "tests/support/program.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <map>
#include <ostream>

namespace {

using perigee::test::ended;
using perigee::test::last_event;
using perigee::test::run_perigee;

constexpr std::uint64_t steps = 3;

struct arrangement {
  const char* model;
  std::vector<std::string> flags;
};

std::ostream& operator<<(std::ostream& out, const arrangement& a) {
  out << a.model;
  for (const auto& f : a.flags) out << ' ' << f;
  return out;
}

std::string job_text(const std::string& model) {
  if (model == "gpt") return perigee::test::tiny_gpt(steps);
  return model == "resnet" ? perigee::test::tiny_resnet(steps) : perigee::test::tiny_mlp(steps);
}

/// Returns the digest of the job in one process of one worker; trained once a model.
std::string digest_alone(const std::string& model) {
  static std::map<std::string, std::string> known;
  auto& digest = known[model];
  if (!digest.empty()) return digest;
  const perigee::test::temporary_folder folder;
  folder.write("job.toml", job_text(model));
  const ended run = run_perigee(folder, {"train", "--local", folder.file("job.toml"), "--json"});
  BOOST_REQUIRE_MESSAGE(run.code == 0, run.output);
  digest = last_event(run.output, "progress").value("digest", "");
  BOOST_REQUIRE(digest.size() == 32);
  return digest;
}

// Stages, schedules, replicas (even and uneven slices), orders of peers, and workers.
const std::vector<arrangement> arrangements{
    {"gpt", {"--peers", "1", "--stages", "1", "--workers", "2"}},
    {"gpt", {"--peers", "2", "--stages", "2", "--workers", "1"}},
    {"gpt", {"--peers", "3", "--stages", "3", "--schedule", "gpipe"}},
    {"gpt", {"--peers", "4", "--stages", "4", "--order", "3,1,4,2"}},
    {"gpt", {"--peers", "4", "--stages", "4", "--schedule", "gpipe", "--workers", "2"}},
    {"gpt", {"--peers", "4", "--stages", "1", "--replicas", "4"}},
    {"gpt",
     {"--peers", "3", "--stages", "1", "--replicas", "3", "--shares", "2,1,1", "--workers", "3"}},
    {"gpt", {"--peers", "4", "--stages", "2", "--replicas", "2", "--shares", "3,1,1,3"}},
    {"gpt", {"--peers", "4", "--stages", "2", "--replicas", "1,3", "--order", "2,4,3,1"}},
    // The first peer, through which the job comes, has no part in these.
    {"gpt", {"--peers", "3", "--stages", "2", "--replicas", "1", "--order", "2,3,1"}},
    {"mlp", {"--peers", "2", "--stages", "1", "--replicas", "1", "--order", "2,1"}},
    {"resnet", {"--peers", "1", "--stages", "1", "--workers", "3"}},
    {"resnet", {"--peers", "2", "--stages", "1", "--replicas", "2", "--shares", "1,3"}},
    {"resnet", {"--peers", "3", "--stages", "2", "--replicas", "2,1", "--workers", "2"}},
    {"resnet", {"--peers", "4", "--stages", "4", "--schedule", "gpipe"}},
    {"mlp", {"--peers", "4", "--stages", "4", "--order", "4,3,2,1"}},
    {"mlp", {"--peers", "4", "--stages", "2", "--replicas", "3,1", "--schedule", "gpipe"}},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(digests)

BOOST_DATA_TEST_CASE(any_plan_gives_the_digest_of_one_process,
                     boost::unit_test::data::make(arrangements), plan) {
  const perigee::test::temporary_folder folder;
  folder.write("job.toml", job_text(plan.model));
  std::vector<std::string> arguments{"testbed", "--job", folder.file("job.toml"), "--no-verify",
                                     "--json"};
  arguments.insert(arguments.end(), plan.flags.begin(), plan.flags.end());
  const ended run = run_perigee(folder, arguments);
  BOOST_REQUIRE_MESSAGE(run.code == 0, run.output);
  const auto report = last_event(run.output, "report");
  BOOST_TEST(report.value("digest", "") == digest_alone(plan.model));
  BOOST_TEST(report.value("steps", 0U) == steps);
}

BOOST_AUTO_TEST_CASE(another_seed_gives_another_digest) {
  const perigee::test::temporary_folder folder;
  auto job = perigee::test::tiny_gpt(steps);
  job.replace(job.find("seed = 7"), 8, "seed = 8");
  folder.write("job.toml", job);
  const ended run = run_perigee(folder, {"train", "--local", folder.file("job.toml"), "--json"});
  BOOST_REQUIRE_MESSAGE(run.code == 0, run.output);
  BOOST_TEST(last_event(run.output, "progress").value("digest", "") != digest_alone("gpt"));
}

BOOST_AUTO_TEST_CASE(verification_in_a_fresh_process_agrees) {
  const perigee::test::temporary_folder folder;
  folder.write("job.toml", perigee::test::tiny_gpt(steps));
  const ended run = run_perigee(folder, {"testbed", "--job", folder.file("job.toml"), "--peers",
                                         "2", "--stages", "2", "--json"});
  BOOST_REQUIRE_MESSAGE(run.code == 0, run.output);
  const auto report = last_event(run.output, "report");
  BOOST_TEST(report.value("equal", false));
  BOOST_TEST(report.value("sample", "") != "");
  for (const auto& peer : report["peers"]) {
    BOOST_TEST(peer.value("micro_batches", 0U) == 8 * steps);
    BOOST_TEST(peer.value("sent", 0U) > 0U);
    BOOST_TEST(peer.value("received", 0U) > 0U);
  }
}

BOOST_AUTO_TEST_SUITE_END()
