#include "planner/plan/repair.hpp"

#include "planner/run/plan_check.hpp"
#include "proto/stage_memory.hpp"
#include "tests/planner/fleets.hpp"

#include <boost/test/unit_test.hpp>

namespace perigee::planner::repair_tests {

BOOST_AUTO_TEST_SUITE(repair)

BOOST_AUTO_TEST_CASE(a_plan_without_a_peer_is_sound_and_near_the_full_plan) {
  for (const auto kind : {fleets::family::compute, fleets::family::links, fleets::family::memory})
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const auto of = fleets::make(seed, kind);
      const fleet swarm(of.described);
      const fleet_request request{&of.model, &swarm, &of.wanted, {}, {}};
      const auto made = plan_fleet(request);
      if (!made) continue;
      const peer_id gone = made->step.uses[seed % made->step.uses.size()].peer;

      const auto again = replan_without(request, made->chosen, gone);

      fleet_description rest = of.described;
      std::erase_if(rest.peers, [gone](const peer_record& p) { return p.peer == gone; });
      const fleet others(rest);
      const auto full = plan_fleet({&of.model, &others, &of.wanted, {}, {}});
      BOOST_TEST_CONTEXT("family " << static_cast<int>(kind) << ", seed " << seed) {
        if (!again) {
          BOOST_TEST(!full);
          continue;
        }
        BOOST_TEST(static_cast<bool>(check_plan(again->chosen, of.model)));
        BOOST_TEST(place_of(again->chosen, gone).stage == again->chosen.stages.size());
        if (full) BOOST_TEST(again->step.count() * 10 <= full->step.total.count() * 11);
      }
    }
}

BOOST_AUTO_TEST_CASE(a_peer_that_had_no_part_changes_nothing) {
  const auto of = fleets::make(11, fleets::family::compute);
  const fleet swarm(of.described);
  const planning_space space{&of.model, &swarm, of.wanted.schedule};
  const layer_sums sums(space);
  const estimator with{&space, &sums, granularity::slice, 0};
  const auto layers = static_cast<std::uint32_t>(of.model.layers.size());
  const outline alone{{0, layers, {{0, of.model.slice_count}}}};
  const auto again = repaired(with, alone, 1);
  BOOST_REQUIRE(again.has_value());
  BOOST_TEST((*again == alone));
}

BOOST_AUTO_TEST_CASE(the_rest_of_a_group_takes_the_slices) {
  auto of = fleets::make(11, fleets::family::compute);
  of.model.slice_count = 4;
  of.model.slice_size = 1;
  of.model.micro_batch_count = 4;
  of.described.peers.resize(2);
  const fleet swarm(of.described);
  const planning_space space{&of.model, &swarm, of.wanted.schedule};
  const layer_sums sums(space);
  const estimator with{&space, &sums, granularity::slice, 0};
  const auto layers = static_cast<std::uint32_t>(of.model.layers.size());
  const auto again = repaired(with, {{0, layers, {{0, 2}, {1, 2}}}}, 0);
  BOOST_REQUIRE(again.has_value());
  BOOST_TEST((*again == outline{{0, layers, {{1, 4}}}}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::planner::repair_tests
