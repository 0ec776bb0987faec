#include "kernels/reference/images.hpp"
#include "tests/kernels/heavy_ops.hpp"

using namespace perigee::kernels::heavy;
namespace kernels = perigee::kernels;
using kernels::linear_shape;

namespace {

/// Sums of up to some thousand products in f32.
constexpr trial<linear_shape> linear_trial{kernels::make_linear, kernels::reference::linear_forward,
                                           kernels::reference::linear_backward, 1e-5};

void check(const linear_shape& s, std::uint64_t seed) {
  BOOST_TEST_CONTEXT("R " << s.R << " C " << s.C << " N " << s.N << (s.bias ? " bias" : "")) {
    linear_trial.check(s, {static_cast<std::size_t>(s.R * s.C)}, seed);
  }
}

std::string refusal(const linear_shape& s) {
  const auto made = kernels::make_linear(s);
  return made ? "built" : made.why().what;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(linear)

BOOST_AUTO_TEST_CASE(random_shapes_agree_with_plain_loops_and_with_themselves) {
  dice d(1);
  for (std::uint64_t i = 0; i < 80; ++i)
    check({.R = d.roll(1, 70), .C = d.roll(1, 90), .N = d.roll(1, 90), .bias = d.roll(0, 1) == 1},
          i);
}

BOOST_AUTO_TEST_CASE(thin_and_long_shapes_agree_with_plain_loops) {
  check({.R = 1, .C = 384, .N = 513}, 1);
  check({.R = 301, .C = 1, .N = 1}, 2);
  check({.R = 1, .C = 1, .N = 1}, 3);
  check({.R = 97, .C = 1031, .N = 10}, 4);
  check({.R = 700, .C = 33, .N = 129, .bias = false}, 5);
}

BOOST_AUTO_TEST_CASE(the_plain_loops_agree_with_their_own_differences) {
  dice d(2);
  for (std::uint64_t i = 0; i < 20; ++i) {
    const linear_shape s{.R = d.roll(1, 9), .C = d.roll(1, 9), .N = d.roll(1, 9)};
    BOOST_TEST(linear_trial.difference_error(s, {static_cast<std::size_t>(s.R * s.C)}, i) < 1e-4);
  }
}

BOOST_AUTO_TEST_CASE(work_is_two_operations_for_each_product) {
  const auto built = std::move(*kernels::make_linear({.R = 3, .C = 5, .N = 7}));
  BOOST_TEST(built->needs().forward_work == 2U * 3 * 5 * 7);
  BOOST_TEST(built->needs().backward_work == 4U * 3 * 5 * 7);
}

BOOST_AUTO_TEST_CASE(a_wrong_shape_is_refused_with_the_dimension) {
  BOOST_TEST(refusal({.R = 0, .C = 1, .N = 1}) == "linear: rows is 0, must be at least 1");
  BOOST_TEST(refusal({.R = 1, .C = -2, .N = 1}) == "linear: in is -2, must be at least 1");
  BOOST_TEST(refusal({.R = 1, .C = 1, .N = 0}) == "linear: out is 0, must be at least 1");
  BOOST_TEST(refusal({.R = 1 << 30, .C = 1 << 30, .N = 1}) ==
             "linear: rows 1073741824 x in 1073741824 is too large");
}

BOOST_AUTO_TEST_SUITE_END()
