#include "planner/run/schedule.hpp"

#include "tests/planner/world.hpp"

#include <boost/test/unit_test.hpp>

using namespace perigee;
using namespace perigee::planner;

BOOST_AUTO_TEST_SUITE(schedule)

namespace {

/// One peer with all layers; its schedule on a lane.
std::string lane_text(schedule_kind kind, std::uint32_t in_flight, std::uint32_t workers,
                      std::uint32_t lane) {
  const model_profile model = testing::chain(2, 7, 2);
  plan p;
  p.schedule = kind;
  p.stages = {{0, 2, in_flight, {{{1}, 0, 4, workers}}}};
  return text(schedule_of(p, {0, 0}, lane, model));
}

}  // namespace

BOOST_AUTO_TEST_CASE(gpipe_goes_forward_with_all_and_then_backward_in_the_same_order) {
  BOOST_TEST(lane_text(schedule_kind::gpipe, 7, 1, 0) ==
             "F0 F1 F2 F3 F4 F5 F6 B0 B1 B2 B3 B4 B5 B6");
}

BOOST_AUTO_TEST_CASE(gpipe_with_less_room_goes_in_rounds) {
  BOOST_TEST(lane_text(schedule_kind::gpipe, 3, 1, 0) ==
             "F0 F1 F2 B0 B1 B2 F3 F4 F5 B3 B4 B5 F6 B6");
}

BOOST_AUTO_TEST_CASE(one_f_one_b_alternates_after_its_warm_up) {
  BOOST_TEST(lane_text(schedule_kind::one_f_one_b, 2, 1, 0) ==
             "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 B6");
  BOOST_TEST(lane_text(schedule_kind::one_f_one_b, 1, 1, 0) ==
             "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6");
}

BOOST_AUTO_TEST_CASE(a_warm_up_is_no_longer_than_the_lane) {
  BOOST_TEST(lane_text(schedule_kind::one_f_one_b, 100, 1, 0) ==
             lane_text(schedule_kind::gpipe, 100, 1, 0));
}

BOOST_AUTO_TEST_CASE(lanes_take_whole_slices_and_the_last_one_may_be_short) {
  BOOST_TEST(lane_text(schedule_kind::one_f_one_b, 1, 3, 0) == "F0 B0 F1 B1 F2 B2 F3 B3");
  BOOST_TEST(lane_text(schedule_kind::one_f_one_b, 1, 3, 1) == "F4 B4 F5 B5");
  BOOST_TEST(lane_text(schedule_kind::one_f_one_b, 1, 3, 2) == "F6 B6");
}

BOOST_AUTO_TEST_CASE(the_peak_is_the_most_between_forward_and_backward) {
  const auto f = [](std::uint32_t m) { return lane_action{pass::forward, m}; };
  const auto b = [](std::uint32_t m) { return lane_action{pass::backward, m}; };
  BOOST_TEST(peak_in_flight({}) == 0U);
  BOOST_TEST(peak_in_flight({f(0), b(0), f(1), b(1)}) == 1U);
  BOOST_TEST(peak_in_flight({f(0), f(1), b(0), f(2), f(3), b(1)}) == 3U);
}

BOOST_AUTO_TEST_SUITE_END()
