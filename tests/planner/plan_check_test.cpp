#include "planner/run/plan_check.hpp"

#include "proto/stage_memory.hpp"
#include "tests/planner/world.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>

using namespace perigee;
using namespace perigee::planner;

BOOST_AUTO_TEST_SUITE(plan_check)

namespace {

const model_profile model = testing::chain(3, 4, 1);

/// Layers 0-1 on p1 and p2, layer 2 on p3.
plan sound_plan() {
  plan p;
  p.stages = {{0, 2, 4, {{{1}, 0, 3, 1}, {{2}, 3, 1, 1}}}, {2, 1, 4, {{{3}, 0, 4, 2}}}};
  return p;
}

std::string verdict(const std::function<void(plan&)>& spoil) {
  plan p = sound_plan();
  spoil(p);
  const auto sound = check_plan(p, model);
  return sound ? "sound" : sound.why().what;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_sound_plan_passes) {
  BOOST_TEST(verdict([](plan&) {}) == "sound");
}

BOOST_AUTO_TEST_CASE(layers_must_be_covered_once_and_in_order) {
  BOOST_TEST(verdict([](plan& p) { p.stages.clear(); }) == "plan refused: 0 stages for 3 layers");
  BOOST_TEST(verdict([](plan& p) { p.stages[1].layer_first = 1; }) ==
             "plan refused: the layers of stage 1 do not follow layer 2");
  BOOST_TEST(verdict([](plan& p) { p.stages[1].layer_count = 0; }) ==
             "plan refused: the layers of stage 1 do not follow layer 2");
  BOOST_TEST(verdict([](plan& p) { p.stages.pop_back(); }) ==
             "plan refused: it covers 2 of 3 layers");
  BOOST_TEST(verdict([](plan& p) { p.stages[1].layer_count = 0xffffffff; }) ==
             "plan refused: it covers 4294967297 of 3 layers");
}

BOOST_AUTO_TEST_CASE(slices_must_be_shared_out_once_and_in_group_order) {
  BOOST_TEST(verdict([](plan& p) { p.stages[0].group[1].slice_first = 2; }) ==
             "plan refused: stage 0 gives p2 slices that do not follow slice 3");
  BOOST_TEST(verdict([](plan& p) { p.stages[0].group[0].slice_count = 0; }) ==
             "plan refused: stage 0 gives p1 slices that do not follow slice 0");
  BOOST_TEST(verdict([](plan& p) { p.stages[1].group[0].slice_count = 3; }) ==
             "plan refused: stage 1 shares out 3 of 4 slices");
  BOOST_TEST(verdict([](plan& p) { p.stages[1].group.clear(); }) ==
             "plan refused: stage 1 shares out 0 of 4 slices");
}

BOOST_AUTO_TEST_CASE(a_peer_has_one_place_and_at_least_one_worker) {
  BOOST_TEST(verdict([](plan& p) { p.stages[1].group[0].peer = {1}; }) ==
             "plan refused: p1 has two places");
  BOOST_TEST(verdict([](plan& p) { p.stages[1].group[0].workers = 0; }) ==
             "plan refused: p3 has 0 workers");
  BOOST_TEST(verdict([](plan& p) { p.stages[1].group[0].workers = 1000; }) ==
             "plan refused: p3 has 1000 workers");
  BOOST_TEST(verdict([](plan& p) { p.stages[1].group[0].peer = {}; }) ==
             "plan refused: stage 1 names nobody as a member");
}

BOOST_AUTO_TEST_CASE(something_must_be_in_flight_and_the_schedule_known) {
  BOOST_TEST(verdict([](plan& p) { p.stages[0].in_flight_max = 0; }) ==
             "plan refused: stage 0 allows 0 micro-batches in flight");
  BOOST_TEST(verdict([](plan& p) { p.schedule = static_cast<schedule_kind>(9); }) ==
             "plan refused: its schedule is of an unknown kind");
}

BOOST_AUTO_TEST_CASE(a_plan_that_would_deadlock_is_refused) {
  BOOST_TEST(verdict([](plan& p) { p.stages[0].in_flight_max = 1; }) ==
             "schedule of p1 lane 0 deadlocks: backward 0 waits for ever");
}

BOOST_AUTO_TEST_CASE(a_profile_without_work_fits_no_plan) {
  model_profile empty = model;
  empty.micro_batch_count = 0;
  BOOST_TEST(check_plan(sound_plan(), empty).why().what ==
             "plan refused: a step has 0 micro-batches");
  empty = model;
  empty.slice_size = 0;
  BOOST_TEST(check_plan(sound_plan(), empty).why().what == "plan refused: a step has no slices");
  BOOST_TEST(check_plan(sound_plan(), model_profile{}).why().what ==
             "plan refused: the model has 0 layers");
}

BOOST_AUTO_TEST_CASE(a_peer_that_is_short_says_by_how_many_bytes) {
  const plan p = sound_plan();
  const bytes needed = stage_memory(model, p, {0, 1});
  BOOST_TEST(!objection_to(p, model, {{2}, 1, needed}).has_value());
  const auto against = objection_to(p, model, {{2}, 1, needed - bytes{1}});
  BOOST_REQUIRE(against.has_value());
  BOOST_TEST(against->why.what == "p2 needs " + text(needed) + " for layers 0-1 and offers " +
                                      text(needed - bytes{1}) + ": short by 1 B");
  BOOST_TEST(against->needed.count == needed.count);
  BOOST_TEST(against->offered.count == needed.count - 1);
}

BOOST_AUTO_TEST_CASE(a_peer_does_not_lend_workers_it_does_not_have) {
  const auto against = objection_to(sound_plan(), model, {{3}, 1, {1U << 30U}});
  BOOST_REQUIRE(against.has_value());
  BOOST_TEST(against->why.what == "plan refused: p3 has 1 workers, not the 2 it asks for");
}

BOOST_AUTO_TEST_CASE(who_has_no_place_has_no_objection_to_a_sound_plan) {
  BOOST_TEST(!objection_to(sound_plan(), model, {{9}, 1, {}}).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
