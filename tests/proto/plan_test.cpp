#include "proto/plan.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <set>
#include <vector>

namespace perigee::tests {

namespace {

constexpr peer_id p1{1}, p2{2}, p3{3}, p4{4};

plan two_stages() {
  plan p;
  p.job = job_id{{7, 8}};
  p.epoch = 1;
  p.stages = {{0, 2, 2, {{p1, 0, 4, 1}}}, {2, 2, 1, {{p2, 0, 3, 2}, {p3, 3, 1, 1}}}};
  p.predicted_step = std::chrono::milliseconds{5};
  return p;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(plan)

BOOST_AUTO_TEST_CASE(a_place_is_stage_and_index_in_the_group) {
  BOOST_TEST((place_of(two_stages(), p1) == place{0, 0}));
  BOOST_TEST((place_of(two_stages(), p2) == place{1, 0}));
  BOOST_TEST((place_of(two_stages(), p3) == place{1, 1}));
}

BOOST_AUTO_TEST_CASE(a_peer_without_a_part_stands_behind_the_last_stage) {
  BOOST_TEST((place_of(two_stages(), p4) == place{2, 0}));
  BOOST_TEST((place_of(perigee::plan{}, p4) == place{0, 0}));
}

BOOST_AUTO_TEST_CASE(participants_come_in_stage_and_group_order) {
  BOOST_TEST((participants(two_stages()) == std::vector<peer_id>{p1, p2, p3}));
}

BOOST_AUTO_TEST_CASE(a_member_has_no_more_lanes_than_slices) {
  BOOST_TEST(lane_count({p1, 0, 3, 2}) == 2U);
  BOOST_TEST(lane_count({p1, 0, 2, 3}) == 2U);
  BOOST_TEST(lane_count({p1, 5, 0, 3}) == 0U);
}

BOOST_AUTO_TEST_CASE(lanes_cover_each_slice_once_in_contiguous_runs_with_the_larger_first) {
  for (std::uint32_t first = 0; first < 5; ++first)
    for (std::uint32_t count = 0; count <= 20; ++count)
      for (std::uint32_t workers = 0; workers <= 8; ++workers) {
        const member m{p1, first, count, workers};
        std::uint32_t next = first;
        std::uint32_t before = count;
        for (std::uint32_t lane = 0; lane < lane_count(m); ++lane) {
          const slice_range range = slices_of_lane(m, lane);
          BOOST_REQUIRE_EQUAL(range.first, next);
          BOOST_REQUIRE(range.count >= 1);
          BOOST_REQUIRE(range.count <= before);
          if (lane > 0) BOOST_REQUIRE(before - range.count <= 1);
          next += range.count;
          before = range.count;
        }
        if (workers > 0) BOOST_REQUIRE_EQUAL(next, first + count);
      }
}

BOOST_AUTO_TEST_CASE(a_lane_too_many_has_no_slices) {
  BOOST_TEST((slices_of_lane({p1, 2, 3, 8}, 3) == slice_range{5, 0}));
}

BOOST_AUTO_TEST_CASE(everything_but_the_prediction_is_in_a_plans_digest) {
  const std::vector<std::function<void(perigee::plan&)>> changes = {
      [](auto&) {},
      [](auto& p) { p.job.value.high = 1; },
      [](auto& p) { p.job.value.low = 1; },
      [](auto& p) { p.epoch = 2; },
      [](auto& p) { p.schedule = schedule_kind::gpipe; },
      [](auto& p) { p.stages.pop_back(); },
      [](auto& p) { p.stages[0].layer_first = 1; },
      [](auto& p) { p.stages[0].layer_count = 1; },
      [](auto& p) { p.stages[0].in_flight_max = 1; },
      [](auto& p) { p.stages[1].group.pop_back(); },
      [](auto& p) { std::swap(p.stages[1].group[0], p.stages[1].group[1]); },
      [](auto& p) { p.stages[1].group[0].peer = p4; },
      [](auto& p) { p.stages[1].group[0].slice_first = 1; },
      [](auto& p) { p.stages[1].group[0].slice_count = 1; },
      [](auto& p) { p.stages[1].group[0].workers = 1; },
  };
  std::set<std::uint64_t> digests;
  for (const auto& change : changes) {
    auto changed = two_stages();
    change(changed);
    digests.insert(digest_of(changed));
  }
  BOOST_TEST(digests.size() == changes.size());
  auto repredicted = two_stages();
  repredicted.predicted_step = {};
  BOOST_TEST(digest_of(repredicted) == digest_of(two_stages()));
}

BOOST_AUTO_TEST_CASE(a_plan_prints_on_one_line) {
  BOOST_TEST(text(two_stages()) ==
             "epoch 1, 1f1b: layers 0-1 on p1 (slices 0-3) | "
             "layers 2-3 on p2 (slices 0-2, 2 workers) + p3 (slice 3)");
}

BOOST_AUTO_TEST_CASE(degenerate_plans_print_too) {
  perigee::plan p;
  p.schedule = schedule_kind::gpipe;
  BOOST_TEST(text(p) == "epoch 0, gpipe: no stages");
  p.stages = {{0, 0, 1, {}}};
  BOOST_TEST(text(p) == "epoch 0, gpipe: no layers on nobody");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::tests
