// A job that is over and is submitted again: tried anew after a halt, longer after its end.

#include "planner/limits.hpp"
#include "tests/planner/world.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace perigee;
using namespace perigee::planner;
using namespace perigee::planner::testing;

BOOST_AUTO_TEST_SUITE(resubmission)

namespace {

constexpr job_id job{{0, 1}};

wishes in_stages(std::uint32_t count) {
  wishes w;
  w.stages = count;
  return w;
}

world three_peers(std::uint64_t seed) {
  world w(seed, chain(4, 8, 2), {record_of(1), record_of(2), record_of(3)});
  w.calibrate_and_link();
  return w;
}

bool over_everywhere(const world& w, job_phase how, std::uint64_t steps) {
  for (std::uint64_t p = 1; p <= 3; ++p) {
    const auto at = w.progress_of(p, job);
    if (!at || at->phase != how || at->steps != steps) return false;
  }
  return true;
}

std::string last_receipt(const world& w, std::uint64_t peer) {
  const auto found = w.to_client.find(peer);
  if (found == w.to_client.end()) return "nothing";
  const auto& all = found->second;
  for (auto at = all.rbegin(); at != all.rend(); ++at)
    if (std::holds_alternative<receipt>(*at)) return text(*at);
  return "no receipt";
}

constexpr const char* accepted = "receipt of job 000000000000, accepted";

}  // namespace

BOOST_AUTO_TEST_CASE(a_job_whose_plan_was_impossible_runs_with_other_wishes) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    world w = three_peers(seed);
    w.ask(1, submission{job_of(1, 3, in_stages(4))});  // of three peers
    BOOST_TEST(w.run([&] { return over_everywhere(w, job_phase::halted, 3); }));
    // Through another peer than before: it is one swarm.
    w.ask(2, submission{job_of(1, 3, in_stages(2))});
    BOOST_TEST(w.run([&] { return over_everywhere(w, job_phase::finished, 3); }));
    BOOST_TEST(w.states(job) == alone(chain(4, 8, 2), 3), boost::test_tools::per_element());
    BOOST_TEST(w.progress_of(3, job)->current.stages.size() == 2U);
    BOOST_TEST(last_receipt(w, 2) == accepted);
  }
}

BOOST_AUTO_TEST_CASE(a_job_that_halted_while_it_ran_is_tried_again) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    world w = three_peers(seed);
    w.bad = fault{2, 1, 1};
    w.ask(1, submission{job_of(1, 4, in_stages(3))});
    BOOST_TEST(w.run([&] { return over_everywhere(w, job_phase::halted, 4); }));
    w.bad.reset();
    w.ask(1, submission{job_of(1, 4, in_stages(3))});
    BOOST_TEST(w.run([&] { return over_everywhere(w, job_phase::finished, 4); }));
    BOOST_TEST(w.states(job) == alone(chain(4, 8, 2), 4), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_finished_job_that_is_to_be_longer_goes_on) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    world w = three_peers(seed);
    w.ask(1, submission{job_of(1, 2, in_stages(2))});
    BOOST_TEST(w.run([&] { return over_everywhere(w, job_phase::finished, 2); }));
    w.ask(3, submission{job_of(1, 5, in_stages(2))});
    BOOST_TEST(w.run([&] { return over_everywhere(w, job_phase::finished, 5); }));
    BOOST_TEST(w.states(job) == alone(chain(4, 8, 2), 5), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_finished_job_of_as_many_steps_stays_finished) {
  world w = three_peers(1);
  w.ask(1, submission{job_of(1, 2, in_stages(2))});
  BOOST_TEST(w.run([&] { return over_everywhere(w, job_phase::finished, 2); }));
  const auto epoch = w.progress_of(1, job)->current.epoch;
  w.ask(1, submission{job_of(1, 2, in_stages(3))});
  BOOST_TEST(last_receipt(w, 1) == accepted);
  BOOST_TEST(over_everywhere(w, job_phase::finished, 2));
  BOOST_TEST(w.progress_of(1, job)->current.epoch == epoch);
}

BOOST_AUTO_TEST_CASE(other_steps_of_a_job_under_way_are_refused) {
  world w = three_peers(1);
  w.ask(1, submission{job_of(1, 2, in_stages(2))});
  w.ask(1, submission{job_of(1, 9, in_stages(2))});
  BOOST_TEST(last_receipt(w, 1) ==
             "receipt of job 000000000000, unavailable: job 000000000000 is under way with steps = "
             "2; change them when it has finished");
  BOOST_TEST(w.run([&] { return over_everywhere(w, job_phase::finished, 2); }));
}

BOOST_AUTO_TEST_CASE(who_never_heard_of_a_halt_learns_of_it) {
  world w = three_peers(1);
  w.ask(1, submission{job_of(1, 3, in_stages(4))});
  BOOST_TEST(w.run([&] { return over_everywhere(w, job_phase::halted, 3); }));
  w.traces = true;
  w.give(1, received{{2}, job_of(1, 3, in_stages(4))});
  BOOST_TEST_REQUIRE(!w.trace.empty());
  BOOST_TEST(w.trace.back().starts_with("p1 send p2 halt after 0 steps of job 000000000000"),
             w.trace.back());
}

BOOST_AUTO_TEST_CASE(a_halt_of_an_earlier_beginning_does_not_count) {
  world w = three_peers(1);
  auto again = job_of(1, 3, in_stages(2));
  again.after_epoch = 20;
  w.give(1, received{{2}, again});
  w.give(1, received{{2}, halt{job, 19, 0, {errc::infeasible, "of before"}}});
  BOOST_TEST((w.progress_of(1, job)->phase != job_phase::halted));
  w.give(1, received{{2}, halt{job, 20, 0, {errc::infeasible, "of now"}}});
  BOOST_TEST((w.progress_of(1, job)->phase == job_phase::halted));
}

BOOST_AUTO_TEST_SUITE_END()
