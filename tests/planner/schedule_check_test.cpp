#include "planner/run/schedule_check.hpp"

#include "tests/planner/world.hpp"

#include <boost/test/unit_test.hpp>

using namespace perigee;
using namespace perigee::planner;

BOOST_AUTO_TEST_SUITE(schedule_check)

namespace {

const model_profile model = testing::chain(2, 4, 2);

/// Two stages of one peer each.
plan two_stages(std::uint32_t first_in_flight, std::uint32_t second_in_flight) {
  plan p;
  p.stages = {{0, 1, first_in_flight, {{{1}, 0, 2, 1}}},
              {1, 1, second_in_flight, {{{2}, 0, 2, 1}}}};
  return p;
}

/// Reads e.g. `F0 F1 B0 B1`.
lane_schedule read(const std::string& line) {
  lane_schedule actions;
  for (std::size_t i = 0; i < line.size(); i += 3)
    actions.push_back({line[i] == 'F' ? pass::forward : pass::backward,
                       static_cast<std::uint32_t>(line[i + 1] - '0')});
  return actions;
}

std::string verdict(const plan& p, const std::string& first, const std::string& second) {
  const auto sound =
      check_schedules(p, model, {{{0, 0}, 0, read(first)}, {{1, 0}, 0, read(second)}});
  return sound ? "sound" : std::string(text(sound.why().code)) + ": " + sound.why().what;
}

const std::string good = "F0 F1 B0 F2 B1 F3 B2 B3";

}  // namespace

BOOST_AUTO_TEST_CASE(the_own_schedules_of_a_sensible_plan_are_sound) {
  for (const auto kind : {schedule_kind::gpipe, schedule_kind::one_f_one_b}) {
    plan p = two_stages(4, 4);
    p.schedule = kind;
    BOOST_TEST(bool(check_schedules(p, model, programs_of(p, model))));
  }
  BOOST_TEST(verdict(two_stages(2, 2), good, good) == "sound");
}

BOOST_AUTO_TEST_CASE(a_micro_batch_that_goes_backward_twice_is_found) {
  BOOST_TEST(verdict(two_stages(2, 2), "F0 F1 B0 B0 F2 B1 F3 B2 B3", good) ==
             "malformed: schedule of p1 lane 0 has two backward passes of micro-batch 0");
}

BOOST_AUTO_TEST_CASE(a_micro_batch_that_goes_forward_twice_is_found) {
  BOOST_TEST(verdict(two_stages(2, 2), good, "F0 F0 B0 F1 B1 F2 B2 F3 B3") ==
             "malformed: schedule of p2 lane 0 has two forward passes of micro-batch 0");
}

BOOST_AUTO_TEST_CASE(a_backward_before_its_forward_is_found) {
  BOOST_TEST(verdict(two_stages(2, 2), "F0 B1 F1 B0 F2 B2 F3 B3", good) ==
             "malformed: schedule of p1 lane 0 has micro-batch 1 backward before forward");
}

BOOST_AUTO_TEST_CASE(a_micro_batch_that_is_left_out_is_found) {
  BOOST_TEST(verdict(two_stages(2, 2), "F0 B0 F1 B1 F2 F3 B3", good) ==
             "malformed: schedule of p1 lane 0 does not finish micro-batch 2");
}

BOOST_AUTO_TEST_CASE(a_micro_batch_of_somebody_else_is_found) {
  BOOST_TEST(verdict(two_stages(2, 2), "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4", good) ==
             "malformed: schedule of p1 lane 0 has micro-batch 4, which is not its own");
}

BOOST_AUTO_TEST_CASE(more_in_flight_than_the_plan_allows_is_found) {
  BOOST_TEST(verdict(two_stages(2, 2), "F0 F1 F2 B0 B1 B2 F3 B3", good) ==
             "exhausted: schedule of p1 lane 0 holds 3 micro-batches at once and may hold 2");
}

BOOST_AUTO_TEST_CASE(a_deadlock_is_found) {
  // The second stage wants three before it gives one back; the first gives only two.
  BOOST_TEST(verdict(two_stages(2, 3), good, "F0 F1 F2 B0 F3 B1 B2 B3") ==
             "infeasible: schedule of p1 lane 0 deadlocks: backward 0 waits for ever");
  // Each stage waits for the other's first micro-batch.
  BOOST_TEST(verdict(two_stages(1, 1), "F0 B0 F1 B1 F2 B2 F3 B3", "F1 B1 F0 B0 F2 B2 F3 B3") ==
             "infeasible: schedule of p1 lane 0 deadlocks: backward 0 waits for ever");
}

BOOST_AUTO_TEST_CASE(a_plan_whose_depths_grow_downstream_is_refused) {
  const plan p = two_stages(1, 2);
  const auto sound = check_schedules(p, model, programs_of(p, model));
  BOOST_REQUIRE(!sound);
  BOOST_TEST(text(sound.why().code) == "infeasible");
}

BOOST_AUTO_TEST_SUITE_END()
