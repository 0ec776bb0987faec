#include "kernels/reference/images.hpp"
#include "tests/kernels/heavy_ops.hpp"

using namespace perigee::kernels::heavy;
namespace kernels = perigee::kernels;
using kernels::pool_kind;
using kernels::pool_shape;

namespace {

constexpr trial<pool_shape> pooling{kernels::make_pool, kernels::reference::pool_forward,
                                    kernels::reference::pool_backward, 1e-6};

std::vector<std::size_t> inputs_of(const pool_shape& s) {
  return {static_cast<std::size_t>(s.B * s.C * s.H * s.W)};
}

pool_shape rolled(dice& d, pool_kind kind) {
  pool_shape s{.kind = kind,
               .B = d.roll(1, 3),
               .C = d.roll(1, 40),
               .kernel = d.roll(1, 4),
               .stride = d.roll(1, 3)};
  s.padding = d.roll(0, s.kernel / 2);
  s.H = std::max<std::int64_t>(1, s.kernel - 2 * s.padding) + d.roll(0, 9);
  s.W = std::max<std::int64_t>(1, s.kernel - 2 * s.padding) + d.roll(0, 9);
  return s;
}

std::string text(const pool_shape& s) {
  std::string t;
  for (const auto n : {s.B, s.C, s.H, s.W, s.kernel, s.stride, s.padding})
    t += std::to_string(n) + " ";
  return t;
}

void check(const pool_shape& s, std::uint64_t seed) {
  BOOST_TEST_CONTEXT("B C H W kernel stride padding: " << text(s)) {
    pooling.check(s, inputs_of(s), seed);
  }
}

std::string refusal(const pool_shape& s) {
  const auto made = kernels::make_pool(s);
  return made ? "built" : made.why().what;
}

/// Runs forward and backward with dout = 1, 2, …; returns out and din.
results of_values(const pool_shape& s, const floats& in) {
  auto built = std::move(*kernels::make_pool(s));
  given g = given_for(built->needs(), inputs_of(s), 1);
  g.in[0] = in;
  for (std::size_t i = 0; i < g.dout[0].size(); ++i) g.dout[0][i] = static_cast<float>(i + 1);
  return run(*built, g, passes::all);
}

constexpr float infinity = std::numeric_limits<float>::infinity();

}  // namespace

BOOST_AUTO_TEST_SUITE(pool)

BOOST_AUTO_TEST_CASE(random_shapes_agree_with_plain_loops_and_with_themselves) {
  dice d(1);
  for (std::uint64_t i = 0; i < 60; ++i) {
    check(rolled(d, pool_kind::max), i);
    check(rolled(d, pool_kind::average), i);
    check(rolled(d, pool_kind::global_average), i);
  }
}

BOOST_AUTO_TEST_CASE(the_plain_loops_agree_with_their_own_differences) {
  dice d(2);
  for (std::uint64_t i = 0; i < 10; ++i)
    for (const pool_kind kind : {pool_kind::max, pool_kind::average, pool_kind::global_average}) {
      const pool_shape s = rolled(d, kind);
      BOOST_TEST(pooling.difference_error(s, inputs_of(s), i) < 0.01, text(s));
    }
}

BOOST_AUTO_TEST_CASE(of_equal_values_the_first_takes_the_gradient) {
  const pool_shape s{.kind = pool_kind::max, .B = 1, .C = 1, .H = 2, .W = 2};
  const results r = of_values(s, {1, 3, 3, 3});
  BOOST_TEST(r.out[0] == floats({3}), boost::test_tools::per_element());
  BOOST_TEST(r.din[0] == floats({0, 1, 0, 0}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_window_of_minus_infinity_still_has_a_winner_inside_the_image) {
  const pool_shape s{.kind = pool_kind::max,
                     .B = 1,
                     .C = 1,
                     .H = 1,
                     .W = 1,
                     .kernel = 2,
                     .stride = 1,
                     .padding = 1};
  const results r = of_values(s, {-infinity});
  BOOST_TEST(r.out[0] == floats(4, -infinity), boost::test_tools::per_element());
  BOOST_TEST(r.din[0] == floats({1 + 2 + 3 + 4}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_is_not_a_number_wins_and_stays) {
  const pool_shape s{.kind = pool_kind::max, .B = 1, .C = 1, .H = 2, .W = 2};
  const results r = of_values(s, {1, std::nanf(""), 5, 2});
  BOOST_TEST(std::isnan(r.out[0][0]));
  BOOST_TEST(r.din[0] == floats({0, 1, 0, 0}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(padding_counts_as_zeros_in_an_average) {
  const pool_shape s{.kind = pool_kind::average,
                     .B = 1,
                     .C = 1,
                     .H = 1,
                     .W = 1,
                     .kernel = 2,
                     .stride = 2,
                     .padding = 1};
  BOOST_TEST(of_values(s, {8}).out[0] == floats({2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_wrong_shape_is_refused_with_the_dimension) {
  const pool_shape good{.kind = pool_kind::max, .B = 1, .C = 2, .H = 4, .W = 5};
  const auto but = [&](auto change) {
    pool_shape s = good;
    change(s);
    return refusal(s);
  };
  BOOST_TEST(but([](auto& s) { s.C = 0; }) == "pool: channels is 0, must be at least 1");
  BOOST_TEST(but([](auto& s) { s.kernel = 0; }) == "pool: kernel is 0, must be at least 1");
  BOOST_TEST(but([](auto& s) { s.stride = 0; }) == "pool: stride is 0, must be at least 1");
  BOOST_TEST(but([](auto& s) { s.padding = 2; }) ==
             "pool: padding is 2, must be between 0 and half the kernel of 2");
  BOOST_TEST(but([](auto& s) { s.padding = -1; }) ==
             "pool: padding is -1, must be between 0 and half the kernel of 2");
  BOOST_TEST(but([](auto& s) { s.kernel = 5; }) ==
             "pool: a window of 5 x 5 is larger than the padded input of 4 x 5");
  BOOST_TEST(but([](auto& s) { s.kernel = 256; }) == "pool: a kernel of 256 is larger than 255");
  BOOST_TEST(but([](auto& s) { s.H = std::int64_t{1} << 40; }) ==
             "pool: batch 1 x channels 2 x height 1099511627776 is too large");
}

BOOST_AUTO_TEST_SUITE_END()
