#include "planner/plan/cost_model.hpp"

#include <boost/test/unit_test.hpp>

#include <limits>

namespace perigee::planner {

namespace {

using namespace std::chrono_literals;

constexpr speed one_a_nanosecond{1'000'000'000, 1'000'000'000, 1'000'000'000, 1'000'000'000};
constexpr link_estimate link{.latency = 100ns, .bytes_per_second = 1'000'000'000};

/// Each layer: 8 us forward and 16 us backward with its calls, 500 B of gradient, 100 B across.
model_profile three_layers() {
  model_profile m;
  for (int l = 0; l < 3; ++l) {
    layer_profile layer;
    layer.forward = {6000, 0, 0, 0};
    layer.backward = {0, 12000, 0, 0};
    layer.kernel_count = 1;
    layer.gradient = {500};
    layer.state = {1500};
    layer.input = {100};
    layer.output = {l == 2 ? 0U : 100U};
    m.layers.push_back(layer);
  }
  m.micro_batch_count = 7;
  m.slice_size = 2;
  m.slice_count = 4;
  return m;
}

peer_record peer(std::uint64_t id) {
  peer_record record;
  record.peer = {id};
  record.rate = one_a_nanosecond;
  return record;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cost_model)

BOOST_AUTO_TEST_CASE(work_takes_the_sum_over_its_classes) {
  BOOST_TEST(text(work_time({3000, 500, 0, 20}, {3'000'000'000, 1'000'000'000, 0, 10})) == "2.0 s");
  BOOST_TEST(work_time({3000, 500, 0, 0}, {3'000'000'000, 1'000'000'000, 0, 0}).count() == 1500);
}

BOOST_AUTO_TEST_CASE(work_without_a_rate_takes_very_long_and_does_not_overflow) {
  const auto most = std::numeric_limits<std::uint64_t>::max();
  const duration t = work_time({most, most, most, most}, {});
  BOOST_TEST(t.count() > 0);
  BOOST_TEST((t * 65535).count() > 0);
}

BOOST_AUTO_TEST_CASE(a_backward_pass_calls_twice_the_kernels) {
  const lane_time t = layer_time(three_layers().layers[0], one_a_nanosecond);
  BOOST_TEST(t.forward.count() == 8000);
  BOOST_TEST(t.backward.count() == 16000);
  BOOST_TEST(layers_time(three_layers(), 1, 2, one_a_nanosecond).both().count() == 48000);
}

BOOST_AUTO_TEST_CASE(a_link_takes_its_latency_and_its_bytes) {
  BOOST_TEST(link_time({400}, link).count() == 500);
}

BOOST_AUTO_TEST_CASE(one_member_has_nothing_to_reduce) {
  BOOST_TEST(reduce_time(three_layers(), 0, 3, 1, link).count() == 0);
}

BOOST_AUTO_TEST_CASE(layers_stream_along_a_chain) {
  // 1500 B once, then one layer's 500 B over one hop less than there and back; 100 ns each hop.
  BOOST_TEST(reduce_time(three_layers(), 0, 3, 2, link).count() == 1500 + 500 + 2 * 100);
  BOOST_TEST(reduce_time(three_layers(), 0, 3, 3, link).count() == 1500 + 3 * 500 + 4 * 100);
}

BOOST_AUTO_TEST_CASE(the_busiest_lane_is_the_first) {
  const model_profile m = three_layers();
  BOOST_TEST(busiest_lane(m, {peer_id{1}, 0, 4, 1}) == 7U);
  BOOST_TEST(busiest_lane(m, {peer_id{1}, 0, 4, 3}) == 4U);
  BOOST_TEST(busiest_lane(m, {peer_id{1}, 3, 1, 2}) == 1U);
}

BOOST_AUTO_TEST_CASE(a_member_is_busy_computing_then_updating) {
  const model_profile m = three_layers();
  const stage_load load = load_of(m, 0, 1, one_a_nanosecond);
  BOOST_TEST(load.update.count() == 6000);
  BOOST_TEST(member_time(m, load, {peer_id{1}, 0, 4, 1}, link).count() == 7 * 24000 + 6000);
  BOOST_TEST(member_time(m, load, {peer_id{1}, 0, 4, 2}, link).count() == 4 * 24000 + 3000);
}

BOOST_AUTO_TEST_CASE(a_slow_link_is_what_a_member_waits_for) {
  const model_profile m = three_layers();
  const stage_load load = load_of(m, 1, 1, one_a_nanosecond);
  const link_estimate slow{.latency = 0ns, .bytes_per_second = 1'000'000};
  // 200 B for each micro-batch in each direction, at 1 us a byte.
  BOOST_TEST(member_time(m, load, {peer_id{1}, 0, 4, 1}, slow).count() == 7 * 200'000 + 6000);
}

BOOST_AUTO_TEST_CASE(a_step_is_the_bottleneck_and_fill_and_drain) {
  const model_profile m = three_layers();
  plan p;
  p.stages = {{0, 2, 2, {{peer_id{1}, 0, 4, 1}}}, {2, 1, 1, {{peer_id{2}, 0, 4, 1}}}};
  const std::vector<peer_record> peers{peer(1), peer(2)};

  const step_cost cost = cost_of(m, p, peers, link);

  BOOST_TEST(cost.bottleneck.count() == 7 * 48000 + 12000);
  BOOST_TEST(cost.bottleneck_stage == 0U);
  BOOST_TEST(cost.fill_and_drain.count() == 72000 + 2 * 200);
  BOOST_TEST(cost.reduction.count() == 0);
  BOOST_TEST(cost.total.count() == 6 * 48000 + 12000 + 72400);
}

BOOST_AUTO_TEST_CASE(a_long_link_paces_a_stage_that_may_have_few_under_way) {
  const model_profile m = three_layers();
  plan p;
  p.stages = {{0, 2, 2, {{peer_id{1}, 0, 4, 1}}}, {2, 1, 1, {{peer_id{2}, 0, 4, 1}}}};
  const std::vector<peer_record> peers{peer(1), peer(2)};
  const link_estimate far{.latency = 1ms, .bytes_per_second = 1'000'000'000};

  const step_cost cost = cost_of(m, p, peers, far);

  BOOST_TEST(cost.fill_and_drain.count() == 72000 + 2 * 1'000'100);
  BOOST_TEST(cost.total.count() == 6 * 2'072'200 / 2 + 2'072'200);
}

BOOST_AUTO_TEST_CASE(a_group_adds_its_reduction) {
  const model_profile m = three_layers();
  plan p;
  p.stages = {{0, 3, 1, {{peer_id{1}, 0, 2, 1}, {peer_id{2}, 2, 2, 1}}}};
  const std::vector<peer_record> peers{peer(1), peer(2)};

  const step_cost cost = cost_of(m, p, peers, link);

  BOOST_TEST(cost.reduction.count() == 2200);
  BOOST_TEST(cost.bottleneck.count() == 4 * 72000 + 18000 + 2200);
  BOOST_TEST(cost.total.count() == 4 * 72000 + 18000 + 2200);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::planner
