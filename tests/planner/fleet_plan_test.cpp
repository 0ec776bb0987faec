#include "planner/plan/fleet_plan.hpp"

#include "planner/plan/outline.hpp"
#include "planner/run/plan_check.hpp"
#include "proto/stage_memory.hpp"
#include "tests/planner/fleets.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

namespace perigee::planner::fleet_plan_tests {

namespace {

using fleets::family;

constexpr family families[] = {family::compute, family::links, family::memory};

result<fleet_plan> planned(const fleets::instance& of, const fleet& swarm,
                           const fleet_limits& limits = {}) {
  return plan_fleet({&of.model, &swarm, &of.wanted, {}, limits});
}

void expect_within_memory(const fleet_plan& made, const fleet& swarm) {
  for (const peer_use& use : made.step.uses) {
    const peer_record& record = swarm.peers()[swarm.position_of(use.peer)];
    BOOST_TEST((use.reserved <= record.memory_offer));
    BOOST_TEST((use.touched <= use.reserved));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(fleet_plan)

BOOST_AUTO_TEST_CASE(a_small_swarms_plan_is_the_best_of_all_plans) {
  for (const family kind : families)
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const auto of = fleets::make(seed, kind);
      const fleet swarm(of.described);
      const planning_space space{&of.model, &swarm, of.wanted.schedule};
      const duration least = fleets::enumeration(space).least();
      const auto made = planned(of, swarm);
      BOOST_TEST_CONTEXT("family " << static_cast<int>(kind) << ", seed " << seed) {
        if (!made) {
          BOOST_TEST((least == duration::max()));
          continue;
        }
        BOOST_TEST((made->tier == planning_tier::exact));
        BOOST_TEST(made->step.total.count() <= least.count());
        BOOST_TEST(gap_permille(*made) == 0U);
      }
    }
}

BOOST_AUTO_TEST_CASE(no_plan_is_faster_than_the_bound) {
  for (const family kind : families)
    for (std::uint64_t seed = 100; seed < 160; ++seed) {
      const auto of = fleets::make(seed, kind);
      const fleet swarm(of.described);
      const planning_space space{&of.model, &swarm, of.wanted.schedule};
      const duration least = fleets::enumeration(space).least();
      const auto made = planned(of, swarm, {.exact_peers_max = 0});
      if (!made) continue;
      BOOST_TEST_CONTEXT("family " << static_cast<int>(kind) << ", seed " << seed)
      BOOST_TEST(made->bound.count() <= least.count());
    }
}

BOOST_AUTO_TEST_CASE(every_plan_covers_layers_and_slices_once_and_stays_within_memory) {
  for (const family kind : families)
    for (std::uint64_t seed = 200; seed < 300; ++seed) {
      const auto of = fleets::make(seed, kind);
      const fleet swarm(of.described);
      const auto made = planned(of, swarm, {.exact_peers_max = seed % 2 == 0 ? 6U : 0U});
      if (!made) continue;
      BOOST_TEST_CONTEXT("family " << static_cast<int>(kind) << ", seed " << seed) {
        const auto sound = check_plan(made->chosen, of.model);
        BOOST_TEST(static_cast<bool>(sound));
        expect_within_memory(*made, swarm);
      }
    }
}

BOOST_AUTO_TEST_CASE(the_order_in_which_peers_are_named_changes_nothing) {
  for (std::uint64_t seed = 300; seed < 320; ++seed) {
    auto of = fleets::make(seed, family::links);
    const fleet swarm(of.described);
    const auto made = planned(of, swarm);
    std::reverse(of.described.peers.begin(), of.described.peers.end());
    const fleet other(of.described);
    const auto again = planned(of, other);
    BOOST_REQUIRE(static_cast<bool>(made) == static_cast<bool>(again));
    if (made) BOOST_TEST((*made == *again));
  }
}

BOOST_AUTO_TEST_CASE(a_peer_behind_a_slow_link_is_left_idle) {
  auto of = fleets::make(1, family::compute);
  of.described.peers.resize(2);
  of.described.peers[0].rate =
      of.described.peers[1].rate = {1'000'000'000, 1'000'000'000, 1'000'000'000, 1'000'000'000};
  of.described.shared.clear();
  of.described.pairs = {{{1}, {2}, {duration{1'000'000'000}, 1000}}};
  const fleet swarm(of.described);

  const auto made = planned(of, swarm);

  BOOST_REQUIRE(made);
  BOOST_TEST(made->step.uses.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_peer_without_a_speed_takes_no_part) {
  auto of = fleets::make(2, family::compute);
  of.described.peers[0].rate = {};
  const fleet swarm(of.described);

  const auto made = planned(of, swarm);

  BOOST_REQUIRE(made);
  for (const peer_use& use : made->step.uses) BOOST_TEST((use.peer != peer_id{1}));
}

BOOST_AUTO_TEST_CASE(a_fleet_without_any_speed_is_refused) {
  auto of = fleets::make(2, family::compute);
  for (peer_record& p : of.described.peers) p.rate = {};
  const fleet swarm(of.described);
  const auto made = planned(of, swarm);
  BOOST_REQUIRE(!made);
  BOOST_TEST(made.why().what == "no peer has a speed yet");
}

BOOST_AUTO_TEST_CASE(wishes_for_a_form_are_met) {
  auto of = fleets::make(5, family::compute);
  of.wanted.stages = 2;
  const fleet swarm(of.described);
  const auto made = planned(of, swarm);
  BOOST_REQUIRE(made);
  BOOST_TEST(made->chosen.stages.size() == 2U);
  BOOST_TEST((made->tier == planning_tier::as_wished));
}

BOOST_AUTO_TEST_CASE(a_job_that_cannot_fit_says_who_is_short) {
  auto of = fleets::make(3, family::compute);
  for (peer_record& p : of.described.peers) p.memory_offer = {4096};
  const fleet swarm(of.described);
  const auto made = planned(of, swarm);
  BOOST_REQUIRE(!made);
  BOOST_TEST((made.why().code == errc::infeasible));
  BOOST_TEST(made.why().what.find("short by") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::planner::fleet_plan_tests
