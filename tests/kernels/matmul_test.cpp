#include "kernels/reference/images.hpp"
#include "tests/kernels/heavy_ops.hpp"

using namespace perigee::kernels::heavy;
namespace kernels = perigee::kernels;
using kernels::matmul_shape;

namespace {

/// Sums of up to some thousand products in f32.
constexpr trial<matmul_shape> matmul_trial{kernels::make_matmul, kernels::reference::matmul_forward,
                                           kernels::reference::matmul_backward, 1e-5};

std::vector<std::size_t> inputs_of(const matmul_shape& s) {
  return {static_cast<std::size_t>(s.G * s.R * s.C), static_cast<std::size_t>(s.G * s.C * s.N)};
}

void check(const matmul_shape& s, std::uint64_t seed) {
  BOOST_TEST_CONTEXT("G " << s.G << " R " << s.R << " C " << s.C << " N " << s.N) {
    matmul_trial.check(s, inputs_of(s), seed);
  }
}

std::string refusal(const matmul_shape& s) {
  const auto made = kernels::make_matmul(s);
  return made ? "built" : made.why().what;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(matmul)

BOOST_AUTO_TEST_CASE(random_shapes_agree_with_plain_loops_and_with_themselves) {
  dice d(1);
  for (std::uint64_t i = 0; i < 70; ++i)
    check({.G = d.roll(1, 5), .R = d.roll(1, 40), .C = d.roll(1, 60), .N = d.roll(1, 40)}, i);
}

BOOST_AUTO_TEST_CASE(the_products_of_attention_agree_with_plain_loops) {
  check({.G = 2, .R = 128, .C = 64, .N = 128}, 1);
  check({.G = 2, .R = 128, .C = 128, .N = 64}, 2);
  check({.G = 1, .R = 1, .C = 600, .N = 1}, 3);
}

BOOST_AUTO_TEST_CASE(the_plain_loops_agree_with_their_own_differences) {
  dice d(2);
  for (std::uint64_t i = 0; i < 20; ++i) {
    const matmul_shape s{
        .G = d.roll(1, 3), .R = d.roll(1, 7), .C = d.roll(1, 7), .N = d.roll(1, 7)};
    BOOST_TEST(matmul_trial.difference_error(s, inputs_of(s), i) < 1e-3);
  }
}

BOOST_AUTO_TEST_CASE(only_the_wanted_gradient_is_written) {
  const matmul_shape shape{.G = 2, .R = 3, .C = 4, .N = 5};
  auto built = std::move(*kernels::make_matmul(shape));
  const given g = given_for(built->needs(), inputs_of(shape), 1);
  stand s(built->needs(), g, {});
  s.din[0] = nullptr;
  built->backward_inputs(s.call());
  BOOST_TEST(std::isnan(s.taken().din[0][0]));
  BOOST_TEST(std::isfinite(s.taken().din[1][0]));
  stand t(built->needs(), g, {});
  t.din[1] = nullptr;
  built->backward_inputs(t.call());
  BOOST_TEST(std::isnan(t.taken().din[1][0]));
  BOOST_TEST(std::isfinite(t.taken().din[0][0]));
}

BOOST_AUTO_TEST_CASE(work_is_two_operations_for_each_product) {
  const auto built = std::move(*kernels::make_matmul({.G = 2, .R = 3, .C = 5, .N = 7}));
  BOOST_TEST(built->needs().forward_work == 2U * 2 * 3 * 5 * 7);
}

BOOST_AUTO_TEST_CASE(a_wrong_shape_is_refused_with_the_dimension) {
  BOOST_TEST(refusal({.G = 0, .R = 1, .C = 1, .N = 1}) ==
             "matmul: groups is 0, must be at least 1");
  BOOST_TEST(refusal({.G = 1, .R = 0, .C = 1, .N = 1}) == "matmul: rows is 0, must be at least 1");
  BOOST_TEST(refusal({.G = 1, .R = 1, .C = 0, .N = 1}) == "matmul: inner is 0, must be at least 1");
  BOOST_TEST(refusal({.G = 1, .R = 1, .C = 1, .N = 0}) ==
             "matmul: columns is 0, must be at least 1");
  BOOST_TEST(refusal({.G = 1 << 20, .R = 1 << 11, .C = 1 << 10, .N = 1}) ==
             "matmul: groups 1048576 x rows 2048 x inner 1024 is too large");
}

BOOST_AUTO_TEST_SUITE_END()
