// The face for embedding: whole peers inside one program.
#include "actors/runtime.hpp"

#include "actors/cli/load_job.hpp"
#include "actors/messages.hpp"
#include "proto/digest.hpp"
#include "tests/support/program.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/all.hpp>

#include <condition_variable>
#include <mutex>

namespace {

using perigee::actors::runtime;
using perigee::actors::runtime_config;

/// The end of a job, as a watcher hears of it.
class ending {
public:
  caf::actor watcher_in(caf::actor_system& system) {
    return system.spawn([this](caf::event_based_actor*) -> caf::behavior {
      return {[this](const perigee::progress& news) { hear(news); }};
    });
  }
  perigee::progress wait() {
    std::unique_lock guard(lock_);
    came_.wait_for(guard, std::chrono::seconds(120), [this] { return over_; });
    return last_;
  }

private:
  void hear(const perigee::progress& news) {
    const std::lock_guard guard(lock_);
    last_ = news;
    over_ = news.phase == perigee::job_phase::finished || news.phase == perigee::job_phase::halted;
    if (over_) came_.notify_all();
  }
  std::mutex lock_;
  std::condition_variable came_;
  perigee::progress last_;
  bool over_ = false;
};

perigee::peer_record record(std::uint64_t id, std::uint32_t workers) {
  perigee::peer_record r;
  r.peer.value = id;
  r.incarnation = 1;
  r.name = text(r.peer);
  r.address = "127.0.0.1:0";
  r.workers = workers;
  r.memory_offer.count = std::uint64_t{1} << 30U;
  return r;
}

std::unique_ptr<runtime> started(runtime_config config) {
  auto made = runtime::start(std::move(config));
  BOOST_REQUIRE(static_cast<bool>(made));
  return std::move(*made);
}

perigee::job_record job_of(const std::string& text) {
  const perigee::test::temporary_folder folder;
  auto job = perigee::actors::load_job(folder.write("job.toml", text));
  BOOST_REQUIRE_MESSAGE(static_cast<bool>(job), (job ? "" : job.why().what));
  return std::move(*job);
}

perigee::progress trained_alone(const perigee::job_record& job, std::uint32_t workers) {
  runtime_config config;
  config.self = record(1, workers);
  config.networked = false;
  auto peer = started(std::move(config));
  ending end;
  const auto watcher = end.watcher_in(peer->system());
  peer->watch(watcher);
  peer->submit(job);
  auto last = end.wait();
  caf::anon_send_exit(watcher, caf::exit_reason::user_shutdown);
  peer->stop();
  return last;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(runtime)

BOOST_AUTO_TEST_CASE(a_peer_alone_trains_to_the_end_and_tells_its_watchers) {
  const auto last = trained_alone(job_of(perigee::test::tiny_mlp(4)), 1);
  BOOST_TEST(last.why.what == "");
  BOOST_TEST((last.phase == perigee::job_phase::finished));
  BOOST_TEST(last.step == 4U);
  BOOST_TEST(last.last.states.size() == 4U);
  BOOST_TEST(last.last.micro_batches == 8U);
}

BOOST_AUTO_TEST_CASE(two_runtimes_of_one_program_agree_with_one) {
  auto job = job_of(perigee::test::tiny_mlp(4));
  const auto alone = trained_alone(job, 2);
  job.wanted.stages = 2;
  runtime_config second;
  second.self = record(2, 1);
  second.members = {record(1, 1)};
  auto p2 = started(std::move(second));
  runtime_config first;
  first.self = record(1, 1);
  first.members = {record(2, 1)};
  first.members[0].address = p2->address();
  auto p1 = started(std::move(first));
  ending end;
  const auto watcher = end.watcher_in(p2->system());
  p2->watch(watcher);
  p1->submit(job);
  const auto last = end.wait();
  BOOST_TEST(last.why.what == "");
  BOOST_TEST(last.current.stages.size() == 2U);
  BOOST_TEST((last.last.states == alone.last.states));
  BOOST_TEST(p1->report().neighbours.size() == 1U);
  caf::anon_send_exit(watcher, caf::exit_reason::user_shutdown);
  p1->stop();
  p2->stop();
}

BOOST_AUTO_TEST_CASE(a_job_whose_data_is_gone_halts_with_its_reason) {
  auto job = job_of(perigee::test::tiny_mlp(1));
  job.spec.data.path = "/nowhere/digits.csv";
  const auto last = trained_alone(job, 1);
  BOOST_TEST((last.phase == perigee::job_phase::halted));
  BOOST_TEST(last.why.what.find("/nowhere/digits.csv") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
