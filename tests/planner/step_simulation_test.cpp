#include "planner/plan/step_simulation.hpp"

#include <boost/test/unit_test.hpp>

namespace perigee::planner::step_simulation_tests {

namespace {

using namespace std::chrono_literals;

constexpr speed one_a_nanosecond{1'000'000'000, 1'000'000'000, 1'000'000'000, 1'000'000'000};

/// Each layer: 8 us forward and 16 us backward with its calls, 500 B of gradient, 100 B across.
model_profile two_layers() {
  model_profile m;
  for (int l = 0; l < 2; ++l) {
    layer_profile layer;
    layer.forward = {6000, 0, 0, 0};
    layer.backward = {0, 12000, 0, 0};
    layer.kernel_count = 1;
    layer.gradient = {500};
    layer.state = {1500};
    layer.input = {100};
    layer.output = {l == 1 ? 0U : 100U};
    m.layers.push_back(layer);
  }
  m.micro_batch_count = 2;
  m.slice_size = 1;
  m.slice_count = 2;
  return m;
}

fleet_description peers(std::uint32_t count, const link_estimate& link) {
  fleet_description f;
  for (std::uint32_t p = 1; p <= count; ++p) {
    peer_record record;
    record.peer = {p};
    record.rate = one_a_nanosecond;
    f.peers.push_back(record);
  }
  f.usual = link;
  return f;
}

plan two_stages() {
  plan p;
  p.stages = {{0, 1, 2, {{{1}, 0, 2, 1}}}, {1, 1, 1, {{{2}, 0, 2, 1}}}};
  return p;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(step_simulation)

BOOST_AUTO_TEST_CASE(one_peer_is_busy_for_all_passes_and_its_update) {
  const auto m = two_layers();
  const fleet swarm(peers(1, {}));
  plan p;
  p.stages = {{0, 2, 1, {{{1}, 0, 2, 1}}}};

  const auto r = simulate_step({&m, &swarm}, p);

  BOOST_TEST(r.passes.count() == 2 * 48000);
  BOOST_TEST(r.update.count() == 12000);
  BOOST_TEST(r.total.count() == 108000);
}

BOOST_AUTO_TEST_CASE(a_pipeline_fills_runs_and_drains) {
  const auto m = two_layers();
  // 100 B take 1 us on the link and 2 us on their way.
  const fleet swarm(peers(2, {2us, 100'000'000}));

  const auto r = simulate_step({&m, &swarm, record::spans}, two_stages());

  // F0 0-8, there at 11; F0 B0 F1 B1 on the second until 59; back at 62; B1 until 78.
  BOOST_TEST(r.passes.count() == 78000);
  BOOST_TEST(r.total.count() == 84000);
  BOOST_TEST(r.warm_up.count() == 0);
  BOOST_REQUIRE(r.spans.size() == 8U);
  BOOST_TEST(r.spans[2].peer.value == 2U);
  BOOST_TEST(r.spans[2].start.count() == 11000);
  BOOST_TEST(r.spans[7].end.count() == 78000);
}

BOOST_AUTO_TEST_CASE(without_links_only_passes_are_left) {
  const auto m = two_layers();
  const fleet swarm(peers(2, {2us, 100'000'000}));
  const auto r = simulate_step({&m, &swarm, record::totals, links::free}, two_stages());
  BOOST_TEST(r.passes.count() == 8000 + 2 * 24000 + 16000);
}

BOOST_AUTO_TEST_CASE(transfers_on_a_medium_take_turns) {
  const auto m = two_layers();
  auto described = peers(4, {});
  plan p;
  p.stages = {{0, 1, 1, {{{1}, 0, 1, 1}, {{2}, 1, 1, 1}}},
              {1, 1, 1, {{{3}, 0, 1, 1}, {{4}, 1, 1, 1}}}};
  const link_estimate slow{0us, 10'000'000};  // 10 us a boundary
  described.usual = slow;
  const fleet apart(described);
  described.shared = {{{{1}, {2}, {3}, {4}}, slow}};
  const fleet radio(described);

  const auto alone = simulate_step({&m, &apart}, p);
  const auto turns = simulate_step({&m, &radio}, p);

  BOOST_TEST(alone.passes.count() == 8000 + 10000 + 24000 + 10000 + 16000);
  BOOST_TEST(turns.passes.count() == alone.passes.count() + 10000);
}

BOOST_AUTO_TEST_CASE(a_group_reduces_when_all_its_passes_are_done) {
  const auto m = two_layers();
  const fleet swarm(peers(2, {100ns, 1'000'000'000}));
  plan p;
  p.stages = {{0, 2, 1, {{{1}, 0, 1, 1}, {{2}, 1, 1, 1}}}};

  const auto r = simulate_step({&m, &swarm}, p);

  BOOST_TEST(r.reduction.count() == 1000 + 500 + 200);
  BOOST_TEST(r.total.count() == 48000 + 1700 + 12000);
}

BOOST_AUTO_TEST_CASE(a_deeper_lane_touches_more_memory) {
  auto m = two_layers();
  m.layers[0].kept = {6400};
  const fleet swarm(peers(2, {2us, 100'000'000}));
  auto p = two_stages();
  const auto deep = simulate_step({&m, &swarm}, p);
  p.stages[0].in_flight_max = 1;
  m.micro_batch_count = 2;
  const auto flat = simulate_step({&m, &swarm}, p);
  BOOST_TEST(deep.uses[0].touched.count > flat.uses[0].touched.count);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::planner::step_simulation_tests
