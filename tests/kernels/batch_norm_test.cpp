#include "kernels/reference/images.hpp"
#include "tests/kernels/heavy_ops.hpp"

using namespace perigee::kernels::heavy;
namespace kernels = perigee::kernels;
using kernels::batch_norm_shape;
using kernels::pass_kind;

namespace {

/// Few rows make the variance small and its inverse large: 2e-5 covers two rows of equal sign.
constexpr trial<batch_norm_shape> norm{kernels::make_batch_norm,
                                       kernels::reference::batch_norm_forward,
                                       kernels::reference::batch_norm_backward, 2e-5};

std::vector<std::size_t> inputs_of(const batch_norm_shape& s) {
  return {static_cast<std::size_t>(s.B * s.C * s.H * s.W)};
}

batch_norm_shape rolled(dice& d) {
  return {.B = d.roll(2, 9),
          .C = d.roll(1, 70),
          .H = d.roll(1, 9),
          .W = d.roll(2, 9),
          .epsilon = 1e-5F,
          .relu = d.roll(0, 1) == 1};
}

void check(const batch_norm_shape& s, std::uint64_t seed) {
  BOOST_TEST_CONTEXT("B " << s.B << " C " << s.C << " H " << s.H << " W " << s.W
                          << (s.relu ? " relu" : "")) {
    norm.check(s, inputs_of(s), seed);
  }
}

std::string refusal(const batch_norm_shape& s) {
  const auto made = kernels::make_batch_norm(s);
  return made ? "built" : made.why().what;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(batch_norm)

BOOST_AUTO_TEST_CASE(random_shapes_agree_with_plain_loops_and_with_themselves) {
  dice d(1);
  for (std::uint64_t i = 0; i < 80; ++i) check(rolled(d), i);
}

BOOST_AUTO_TEST_CASE(token_rows_and_long_images_agree_with_plain_loops) {
  check({.B = 33, .C = 19}, 1);
  check({.B = 2, .C = 3, .H = 61, .W = 67, .relu = true}, 2);
  check({.B = 8, .C = 64, .H = 16, .W = 16, .relu = true}, 3);
}

BOOST_AUTO_TEST_CASE(evaluation_uses_the_running_statistics) {
  dice d(2);
  for (std::uint64_t i = 0; i < 60; ++i) {
    batch_norm_shape s = rolled(d);
    s.B = d.roll(1, 3);
    s.pass = pass_kind::evaluation;
    auto built = std::move(*kernels::make_batch_norm(s)), twin = std::move(*norm.make(s));
    given g = given_for(built->needs(), inputs_of(s), i);
    g.running = drawn(static_cast<std::size_t>(2 * s.C), i, 50);
    for (float& v : g.running) v = v * v + 0.1F;
    const results got = run(*built, g, passes::forward_only);
    const results expected = run_plainly(
        built->needs(), g,
        [&](const kernels::op_call& c) { kernels::reference::batch_norm_forward(s, c); }, {});
    check_close(got, expected, 2e-6);
    check_same_bits(*built, *twin, g, passes::forward_only, got);
  }
}

BOOST_AUTO_TEST_CASE(statistics_survive_a_mean_a_thousand_times_the_deviation) {
  const batch_norm_shape s{.B = 16, .C = 12, .H = 5, .W = 7};
  auto built = std::move(*kernels::make_batch_norm(s));
  given g = given_for(built->needs(), inputs_of(s), 3);
  for (float& v : g.in[0]) v += 1000;
  const results got = run(*built, g, passes::forward_only);
  const results expected = run_plainly(
      built->needs(), g,
      [&](const kernels::op_call& c) { kernels::reference::batch_norm_forward(s, c); }, {});
  const auto variance = [&](const results& r) {
    return floats(r.statistics.begin() + s.C, r.statistics.end());
  };
  BOOST_TEST(worst_error(variance(got), variance(expected)) < 1e-6);
}

BOOST_AUTO_TEST_CASE(a_constant_channel_gives_the_bias) {
  const batch_norm_shape s{.B = 3, .C = 2, .H = 5, .W = 5};
  auto built = std::move(*kernels::make_batch_norm(s));
  given g = given_for(built->needs(), inputs_of(s), 4);
  for (float& v : g.in[0]) v = 0.3F;
  const results got = run(*built, g, passes::all);
  for (std::size_t i = 0; i < got.out[0].size(); ++i)
    BOOST_TEST(std::fabs(got.out[0][i] - g.param[1][i % 2]) < 1e-4F);
  BOOST_TEST(got.statistics[2] < 1e-12F);
}

BOOST_AUTO_TEST_CASE(weights_after_another_forward_see_the_new_gradient) {
  const batch_norm_shape s{.B = 3, .C = 9, .H = 4, .W = 4, .relu = true};
  auto built = std::move(*kernels::make_batch_norm(s));
  const given g = given_for(built->needs(), inputs_of(s), 5);
  const results expected = run(*built, g, passes::all);
  given other = g;
  other.dout[0] = drawn(g.dout[0].size(), 6, 6);
  stand at(built->needs(), other, {});
  built->forward(at.call());
  built->backward_inputs(at.call());
  std::vector<const float*> dout = {g.dout[0].data()};
  perigee::kernels::op_call c = at.call();
  c.dout = dout;
  built->forward(c);
  built->backward_weights(c);
  BOOST_TEST(same_bits(at.taken().dparam, expected.dparam));
}

BOOST_AUTO_TEST_CASE(the_plain_loops_agree_with_their_own_differences) {
  dice d(3);
  for (std::uint64_t i = 0; i < 20; ++i) {
    const batch_norm_shape s = rolled(d);
    // A step over the ReLU's corner, or a curved norm of few rows, is no fault.
    BOOST_TEST(norm.difference_error(s, inputs_of(s), i) < (s.relu ? 0.05 : 0.01));
  }
}

BOOST_AUTO_TEST_CASE(a_wrong_shape_is_refused_with_the_reason) {
  BOOST_TEST(refusal({.B = 0, .C = 1}) == "batch_norm: batch is 0, must be at least 1");
  BOOST_TEST(refusal({.B = 2, .C = 0}) == "batch_norm: channels is 0, must be at least 1");
  BOOST_TEST(refusal({.B = 1, .C = 4}) ==
             "batch_norm: one value a channel has no variance to train with");
  BOOST_TEST(refusal({.B = 2, .C = 4, .epsilon = -1}) ==
             "batch_norm: epsilon is not a number of at least 0");
  BOOST_TEST(refusal({.B = 1 << 21, .C = 1 << 21}) ==
             "batch_norm: batch 2097152 x channels 2097152 is too large");
  BOOST_TEST(refusal({.B = 1, .C = 4, .pass = pass_kind::evaluation}) == "built");
}

BOOST_AUTO_TEST_SUITE_END()
