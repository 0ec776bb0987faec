#include "net/sim/invariants.hpp"

#include "tests/sim/cases.hpp"

#include <boost/test/unit_test.hpp>

namespace perigee::net::invariants_tests {

namespace {

/// Two stages of three layers; p1 has two lanes, p2 and p3 share the second stage.
plan two_stages() {
  plan p;
  p.stages = {{0, 3, 2, {{peer_id{1}, 0, 4, 2}}},
              {3, 3, 1, {{peer_id{2}, 0, 1, 1}, {peer_id{3}, 1, 3, 1}}}};
  return p;
}

net::invariants rules() { return {cases::even_model(6, 4), two_stages()}; }

task forward(std::uint32_t micro_batch) { return {task_kind::forward, 0, micro_batch, {}}; }
task backward(std::uint32_t micro_batch) { return {task_kind::backward, 0, micro_batch, {}}; }

/// Gives a task and has it computed; returns what was wrong, or nothing.
std::string done(net::invariants& r, peer_id who, std::uint32_t lane, const task& what) {
  if (const auto wrong = r.note_given(who, lane, what)) return *wrong;
  return r.note_computed(who, lane, what).value_or("");
}

std::string checked(const plan& p) {
  return net::invariants(cases::even_model(6, 4), p).check_plan().value_or("");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(invariants)

BOOST_AUTO_TEST_CASE(a_plan_covers_each_layer_and_slice_once) {
  BOOST_TEST(checked(two_stages()) == "");
  plan p = two_stages();
  p.stages[1].layer_first = 2;
  BOOST_TEST(checked(p) == "a layer has no stage or two");
  p = two_stages();
  p.stages.pop_back();
  BOOST_TEST(checked(p) == "a layer has no stage or two");
  p = two_stages();
  p.stages[1].group[1].slice_count = 2;
  BOOST_TEST(checked(p) == "a slice has no member or two");
  p = two_stages();
  p.stages[1].group[1].slice_first = 0;
  BOOST_TEST(checked(p) == "a slice has no member or two");
  p = two_stages();
  p.stages[1].group[1].peer = {1};
  BOOST_TEST(checked(p) == "a peer has two places");
}

BOOST_AUTO_TEST_CASE(a_lane_computes_one_task_at_a_time) {
  auto r = rules();
  BOOST_TEST(!r.note_given({1}, 0, forward(0)));
  BOOST_TEST(r.note_given({1}, 0, forward(1)).value_or("") ==
             "p1, lane 0, forward 1 of step 0: the lane is busy");
}

BOOST_AUTO_TEST_CASE(what_nobody_asked_for_is_seen) {
  auto r = rules();
  BOOST_TEST(r.note_computed({1}, 0, forward(0)).value_or("") ==
             "p1, lane 0: computed what nobody asked for");
  BOOST_TEST(done(r, {1}, 2, forward(0)) ==
             "p1, lane 2, forward 0 of step 0: the plan has no such lane");
}

BOOST_AUTO_TEST_CASE(a_micro_batch_is_forward_once_and_back_once) {
  auto r = rules();
  BOOST_TEST(
      done(r, {2}, 0, backward(0)) ==
      "p2, lane 0, backward 0 of step 0: the micro-batch is not forward, or was back already");
  auto again = rules();
  BOOST_TEST(done(again, {2}, 0, forward(0)) == "");
  BOOST_TEST(done(again, {2}, 0, backward(0)) == "");
  BOOST_TEST(again.passes() == 1U);
  BOOST_TEST(done(again, {2}, 0, forward(0)) ==
             "p2, lane 0, forward 0 of step 0: the micro-batch was forward already");
}

BOOST_AUTO_TEST_CASE(a_micro_batch_is_its_lanes) {
  auto r = rules();
  BOOST_TEST(done(r, {1}, 0, forward(4)) ==
             "p1, lane 0, forward 4 of step 0: the micro-batch is another lane's");
}

BOOST_AUTO_TEST_CASE(micro_batches_under_way_are_bounded) {
  auto r = rules();
  BOOST_TEST(done(r, {1}, 0, forward(0)) == "");
  BOOST_TEST(done(r, {1}, 0, forward(1)) == "");
  BOOST_TEST(done(r, {1}, 0, forward(2)) ==
             "p1, lane 0, forward 2 of step 0: too many micro-batches are under way");
}

BOOST_AUTO_TEST_CASE(a_slice_is_added_in_order) {
  auto r = rules();
  BOOST_TEST(done(r, {1}, 0, forward(0)) == "");
  BOOST_TEST(done(r, {1}, 0, forward(1)) == "");
  BOOST_TEST(done(r, {1}, 0, backward(1)) ==
             "p1, lane 0, backward 1 of step 0: the micro-batch before it in its slice is not "
             "added yet");
}

BOOST_AUTO_TEST_CASE(folds_and_updates_wait_for_the_micro_batches) {
  auto r = rules();
  BOOST_TEST(done(r, {2}, 0, {task_kind::fold, 0, 3, {}}) ==
             "p2, lane 0, fold 3 of step 0: an own micro-batch is not done");
  auto other = rules();
  for (const std::uint32_t m : {0U, 1U}) {
    BOOST_TEST(done(other, {2}, 0, forward(m)) == "");
    BOOST_TEST(done(other, {2}, 0, backward(m)) == "");
  }
  BOOST_TEST(done(other, {2}, 0, {task_kind::fold, 0, 3, {}}) == "");
  BOOST_TEST(done(other, {2}, 0, {task_kind::apply, 0, 3, {}}) ==
             "p2, lane 0, apply 3 of step 0: a stage has not done its micro-batches");
  BOOST_TEST(done(other, {3}, 0, {task_kind::fold, 0, 2, {}}) ==
             "p3, lane 0, fold 2 of step 0: the layer is another stage's");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::net::invariants_tests
