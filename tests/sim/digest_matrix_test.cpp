// The promise itself: whatever the plan, the answer is that of one machine.
#include "net/sim/one_machine.hpp"
#include "tests/sim/cases.hpp"

#include <boost/test/unit_test.hpp>

#include <set>

namespace perigee::net {

BOOST_AUTO_TEST_SUITE(digest_matrix)

BOOST_AUTO_TEST_CASE(every_plan_gives_the_answer_of_one_machine) {
  std::set<std::string> plans;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const auto c = cases::make(seed);
    const auto report = simulate(c.job, c.model, c.of, seed, c.options);
    BOOST_TEST_CONTEXT("seed " << seed) {
      BOOST_TEST_REQUIRE(static_cast<bool>(report), (report ? "" : report.why().what));
      BOOST_TEST((report->phase == job_phase::finished), report->why.what);
      BOOST_TEST(report->steps == c.job.spec.steps);
      BOOST_TEST(report->equal);
      BOOST_TEST(report->last.loss_bits == one_machine(c.job.spec, c.model).loss_bits);
      BOOST_TEST(report->last.micro_batches == c.model.micro_batch_count);
      plans.insert(text(report->current));
    }
  }
  BOOST_TEST(plans.size() > 350U);
}

BOOST_AUTO_TEST_CASE(the_planner_may_choose_and_the_answer_stays) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    auto c = cases::make(seed);
    c.job.wanted = {};
    const auto report = simulate(c.job, c.model, c.of, seed, c.options);
    BOOST_TEST_CONTEXT("seed " << seed) {
      BOOST_TEST_REQUIRE(static_cast<bool>(report), (report ? "" : report.why().what));
      BOOST_TEST(report->equal);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_bug_in_the_order_of_addition_is_seen) {
  for (const sabotage bug :
       {sabotage::reversed_fold, sabotage::statistic_twice, sabotage::dropped_slice}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      auto c = cases::make(seed);
      c.options.values.bug = bug;
      const auto report = simulate(c.job, c.model, c.of, seed, c.options);
      BOOST_TEST_CONTEXT("seed " << seed) {
        BOOST_TEST_REQUIRE(static_cast<bool>(report), (report ? "" : report.why().what));
        BOOST_TEST(!report->equal);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_seed_has_one_course) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    auto c = cases::make(seed);
    const auto once = simulate(c.job, c.model, c.of, seed, c.options);
    c.options.how = recording::spans;
    const auto again = simulate(c.job, c.model, c.of, seed, c.options);
    const auto other = simulate(c.job, c.model, c.of, seed + 1000, c.options);
    BOOST_TEST_REQUIRE((once && again && other));
    BOOST_TEST_CONTEXT("seed " << seed) {
      BOOST_TEST(once->trace_hash == again->trace_hash);
      BOOST_TEST(once->events == again->events);
      BOOST_TEST(once->trace_hash != other->trace_hash);
      BOOST_TEST((once->last.states == other->last.states));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::net
