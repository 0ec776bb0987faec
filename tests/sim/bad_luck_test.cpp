// Peers that die, freeze or slow down; values that stop being finite; fleets that cannot do it.
#include "tests/sim/cases.hpp"

#include <boost/test/unit_test.hpp>

namespace perigee::net {

namespace {

using namespace std::chrono_literals;

simulation_report simulated(const job_record& job, const model_profile& m, const fleet& of,
                            const simulation_options& options = {}) {
  auto report = simulate(job, m, of, 1, options);
  BOOST_TEST_REQUIRE(static_cast<bool>(report), (report ? "" : report.why().what));
  return std::move(*report);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(bad_luck)

BOOST_AUTO_TEST_CASE(a_peer_that_dies_is_left_out_and_the_value_is_the_same) {
  const model_profile m = cases::even_model(6, 4);
  job_record job = cases::job_of(m, 100);
  job.wanted.stages = 3;
  simulation_options options;
  options.departures = {{1, 1s}};
  const simulation_report report = simulated(job, m, {.count = 3}, options);
  BOOST_TEST((report.phase == job_phase::finished));
  BOOST_TEST(report.steps == 100U);
  BOOST_TEST(report.equal);
  BOOST_TEST(report.current.epoch > 1U);
  BOOST_TEST(place_of(report.current, {2}).stage == report.current.stages.size());
}

BOOST_AUTO_TEST_CASE(two_runs_of_a_loss_are_the_same_to_the_bit) {
  const model_profile m = cases::even_model(6, 4);
  job_record job = cases::job_of(m, 50);
  simulation_options options;
  options.departures = {{1, 700ms}, {2, 1s}};
  const simulation_report one = simulated(job, m, {.count = 4}, options);
  const simulation_report two = simulated(job, m, {.count = 4}, options);
  BOOST_TEST((one.phase == job_phase::finished));
  BOOST_TEST(one.equal);
  BOOST_TEST(one.trace_hash == two.trace_hash);
}

BOOST_AUTO_TEST_CASE(whenever_peers_die_the_value_is_the_same_or_somebody_is_waited_for) {
  std::uint32_t recovered = 0;
  std::uint32_t waiting = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    auto c = cases::make(seed);
    if (c.of.count == 1) continue;
    random r(seed, purpose::simulation, 5);
    const auto first = static_cast<std::uint32_t>(r.below(c.of.count));
    const auto moment = [&r] { return duration{static_cast<duration::rep>(r.below(300'000'000))}; };
    c.options.departures = {{first, moment()}};
    if (c.of.count > 2 && seed % 3 == 0) {
      c.options.departures.push_back({(first + 1) % c.of.count, moment()});
    }
    c.options.limit = 10min;  // enough for eight proposers that wait for the dead
    const auto report = simulate(c.job, c.model, c.of, seed, c.options);
    BOOST_TEST_CONTEXT("seed " << seed) {
      if (!report) {
        // A member that never came is waited for, and named, as is one without whom it does not
        // fit; a job may die with the only peer that knows it.
        ++waiting;
        const std::string& why = report.why().what;
        const bool named = why.find("waiting for ") != why.npos;
        const bool unheard = why.find("never heard of it") != why.npos;
        BOOST_TEST((named || unheard), why);
        continue;
      }
      if (report->last.step > 0) BOOST_TEST(report->equal);
      if (report->phase == job_phase::finished && report->current.epoch > 1) ++recovered;
      const bool lost = report->phase == job_phase::halted &&
                        report->why.what.find(" was lost") != std::string::npos;
      BOOST_TEST(!lost);
    }
  }
  BOOST_TEST(recovered > 20U);
  BOOST_TEST(waiting > 20U);
}

BOOST_AUTO_TEST_CASE(a_value_that_is_not_finite_stops_at_the_last_finite_step) {
  const model_profile m = cases::even_model(6, 4);
  job_record job = cases::job_of(m, 20);
  job.wanted.stages = 3;
  simulation_options options;
  options.values.fault = value_fault{7, {3, 2}};
  const simulation_report report = simulated(job, m, {.count = 3}, options);
  BOOST_TEST((report.phase == job_phase::halted));
  BOOST_TEST(report.why.what == "loss is not finite at step 8, micro-batch 2, layer l3");
  BOOST_TEST(report.steps == 7U);
  BOOST_TEST(report.last.step == 7U);
  BOOST_TEST(report.equal);
}

BOOST_AUTO_TEST_CASE(a_job_that_does_not_fit_is_refused_with_the_bytes) {
  const model_profile m = cases::even_model(6, 4);
  job_record job = cases::job_of(m, 20);
  job.wanted.stages = 3;
  fleet of{.count = 3};
  of.memory = {300 * 1024, 400 * 1024};
  const simulation_report report = simulated(job, m, of);
  BOOST_TEST((report.phase == job_phase::halted));
  BOOST_TEST((report.why.code == errc::infeasible));
  BOOST_TEST(report.why.what ==
             "no plan fits: p1 would need 1.4 MiB for its smallest share and offers 375.6 KiB: "
             "short by 1126855 B; offer more memory, add peers, or use a smaller micro_batch");
}

BOOST_AUTO_TEST_CASE(a_wish_that_cannot_be_met_is_refused) {
  const model_profile m = cases::even_model(6, 4);
  job_record job = cases::job_of(m, 20);
  job.wanted.stages = 7;
  const simulation_report report = simulated(job, m, {.count = 8});
  BOOST_TEST((report.phase == job_phase::halted));
  BOOST_TEST(report.why.what == "7 stages asked, the model has 6 layers");
}

BOOST_AUTO_TEST_CASE(a_fleet_of_nobody_is_refused) {
  const model_profile m = cases::even_model(6, 4);
  const auto report = simulate(cases::job_of(m, 1), m, {.count = 0}, 1);
  BOOST_TEST_REQUIRE(!report);
  BOOST_TEST(report.why().what == "a fleet of 0 peers");
}

BOOST_AUTO_TEST_CASE(a_departure_of_a_stranger_is_refused) {
  const model_profile m = cases::even_model(6, 4);
  simulation_options options;
  options.departures = {{4, 1s}};
  const auto report = simulate(cases::job_of(m, 1), m, {.count = 4}, 1, options);
  BOOST_TEST_REQUIRE(!report);
  BOOST_TEST(report.why().what == "peer 4 departs from a fleet of 4");
}

BOOST_AUTO_TEST_CASE(a_job_that_is_not_over_at_the_limit_says_for_whom) {
  const model_profile m = cases::even_model(6, 4);
  simulation_options options;
  options.limit = 500ms;
  const auto report = simulate(cases::job_of(m, 1000), m, {.count = 2}, 1, options);
  BOOST_TEST_REQUIRE(!report);
  BOOST_TEST((report.why().code == errc::timed_out));
  BOOST_TEST(report.why().what == "the job is not over after 500.0 ms for p1, p2");
}

BOOST_AUTO_TEST_CASE(a_fleet_that_dies_out_is_an_error) {
  const model_profile m = cases::even_model(6, 4);
  simulation_options options;
  options.departures = {{0, 100ms}, {1, 100ms}};
  const auto report = simulate(cases::job_of(m, 1000), m, {.count = 2}, 1, options);
  BOOST_TEST_REQUIRE(!report);
  BOOST_TEST(report.why().what == "every peer of the fleet is gone");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::net
