#include "kernels/reference/images.hpp"
#include "tests/kernels/heavy_ops.hpp"

#include <array>

using namespace perigee::kernels::heavy;
namespace kernels = perigee::kernels;
using kernels::conv2d_shape;

namespace {

/// Sums of up to some thousand products in f32, each within a few units of 6e-8 of the largest.
constexpr trial<conv2d_shape> convolution{kernels::make_conv2d, kernels::reference::conv2d_forward,
                                          kernels::reference::conv2d_backward, 1e-5};

std::vector<std::size_t> inputs_of(const conv2d_shape& s) {
  return {static_cast<std::size_t>(s.B * s.C * s.H * s.W)};
}

std::string text(const conv2d_shape& s) {
  std::string t;
  for (const auto n :
       {s.B, s.C, s.H, s.W, s.N, s.KH, s.KW, s.stride, s.padding, s.dilation, s.groups})
    t += std::to_string(n) + " ";
  return t + (s.bias ? "bias" : "");
}

void check(const conv2d_shape& s, std::uint64_t seed) {
  BOOST_TEST_CONTEXT("B C H W N KH KW stride padding dilation groups: " << text(s)) {
    convolution.check(s, inputs_of(s), seed);
  }
}

conv2d_shape rolled(dice& d, std::int64_t groups) {
  conv2d_shape s{.B = d.roll(1, 4),
                 .C = groups * d.roll(1, 9),
                 .N = groups * d.roll(1, 9),
                 .KH = d.roll(1, 4),
                 .KW = d.roll(1, 4),
                 .stride = d.roll(1, 3),
                 .padding = d.roll(0, 3),
                 .dilation = d.roll(1, 3),
                 .groups = groups,
                 .bias = d.roll(0, 1) == 1,
                 .isa = {}};
  const auto least = [&](std::int64_t kernel) {
    return std::max<std::int64_t>(1, s.dilation * (kernel - 1) + 1 - 2 * s.padding);
  };
  s.H = least(s.KH) + d.roll(0, 8);
  s.W = least(s.KW) + d.roll(0, 8);
  return s;
}

std::string refusal(const conv2d_shape& s) {
  const auto made = kernels::make_conv2d(s);
  return made ? "built" : made.why().what;
}

const conv2d_shape good{.B = 2,
                        .C = 4,
                        .H = 5,
                        .W = 6,
                        .N = 8,
                        .KH = 3,
                        .KW = 3,
                        .stride = 1,
                        .padding = 1,
                        .dilation = 1,
                        .groups = 1,
                        .bias = false,
                        .isa = {}};

}  // namespace

BOOST_AUTO_TEST_SUITE(conv2d)

BOOST_AUTO_TEST_CASE(random_shapes_agree_with_plain_loops_and_with_themselves) {
  dice d(1);
  for (std::uint64_t i = 0; i < 80; ++i) check(rolled(d, 1), i);
}

BOOST_AUTO_TEST_CASE(random_groups_agree_with_plain_loops_and_with_themselves) {
  dice d(2);
  for (std::uint64_t i = 0; i < 40; ++i) check(rolled(d, d.roll(2, 5)), i);
}

BOOST_AUTO_TEST_CASE(random_depthwise_shapes_agree_with_plain_loops_and_with_themselves) {
  dice d(3);
  for (std::uint64_t i = 0; i < 60; ++i) {
    conv2d_shape s = rolled(d, 1);
    s.C = s.N = s.groups = d.roll(2, 75);
    check(s, i);
  }
}

BOOST_AUTO_TEST_CASE(the_layers_of_known_models_agree_with_plain_loops) {
  const auto square = [](std::array<std::int64_t, 5> m, std::int64_t stride, std::int64_t padding,
                         std::int64_t groups) {
    return conv2d_shape{.B = m[0],
                        .C = m[1],
                        .H = m[2],
                        .W = m[2],
                        .N = m[3],
                        .KH = m[4],
                        .KW = m[4],
                        .stride = stride,
                        .padding = padding,
                        .dilation = 1,
                        .groups = groups,
                        .bias = false,
                        .isa = {}};
  };
  check(square({2, 64, 16, 64, 3}, 1, 1, 1), 1);
  check(square({2, 64, 16, 128, 3}, 2, 1, 1), 2);
  check(square({2, 64, 16, 128, 1}, 2, 0, 1), 3);
  check(square({3, 48, 9, 40, 1}, 1, 0, 1), 4);
  check(square({2, 256, 4, 96, 3}, 1, 1, 1), 5);
  check(square({4, 1, 28, 16, 3}, 1, 1, 1), 6);
  check(square({2, 3, 32, 64, 3}, 1, 1, 1), 7);
  check(square({2, 3, 41, 16, 7}, 2, 3, 1), 8);
  check(square({4, 6, 14, 16, 5}, 1, 0, 1), 9);
  check(square({2, 96, 14, 96, 5}, 2, 2, 96), 10);
  check(square({2, 64, 14, 64, 3}, 1, 1, 4), 11);
}

BOOST_AUTO_TEST_CASE(strided_points_of_few_channels_agree_with_plain_loops_and_with_themselves) {
  std::uint64_t seed = 1;
  for (const std::int64_t groups : {1, 2})
    for (std::int64_t C = 1; C <= 17; ++C)
      for (const std::int64_t N : {1, 4, 8, 17})
        for (const std::int64_t side : {5, 8})
          check({.B = 2,
                 .C = groups * C,
                 .H = side,
                 .W = side,
                 .N = groups * N,
                 .KH = 1,
                 .KW = 1,
                 .stride = 2,
                 .groups = groups,
                 .bias = false,
                 .isa = {}},
                seed++);
}

BOOST_AUTO_TEST_CASE(the_plain_loops_agree_with_their_own_differences) {
  dice d(4);
  for (std::uint64_t i = 0; i < 20; ++i) {
    const conv2d_shape s = rolled(d, d.roll(1, 3));
    BOOST_TEST(convolution.difference_error(s, inputs_of(s), i) < 1e-3, text(s));
  }
}

BOOST_AUTO_TEST_CASE(an_unwanted_input_gradient_is_not_written) {
  auto built = std::move(*kernels::make_conv2d(good));
  const given g = given_for(built->needs(), inputs_of(good), 1);
  stand s(built->needs(), g, {});
  s.din[0] = nullptr;
  built->pack(s.param, s.packed(), s.call().scratch);
  built->backward_inputs(s.call());
  BOOST_TEST(std::isnan(s.taken().din[0][0]));
}

BOOST_AUTO_TEST_CASE(work_is_two_operations_for_each_product) {
  const auto built = std::move(*kernels::make_conv2d(good));
  BOOST_TEST(built->needs().forward_work == 2U * 2 * 5 * 6 * 8 * 4 * 9);
  BOOST_TEST(built->needs().backward_work == 2 * built->needs().forward_work);
}

BOOST_AUTO_TEST_CASE(a_wrong_shape_is_refused_with_the_dimension) {
  const auto but = [](auto change) {
    conv2d_shape s = good;
    change(s);
    return refusal(s);
  };
  BOOST_TEST(but([](auto& s) { s.B = 0; }) == "conv2d: batch is 0, must be at least 1");
  BOOST_TEST(but([](auto& s) { s.KH = 0; }) == "conv2d: kernel height is 0, must be at least 1");
  BOOST_TEST(but([](auto& s) { s.stride = 0; }) == "conv2d: stride is 0, must be at least 1");
  BOOST_TEST(but([](auto& s) { s.dilation = -1; }) == "conv2d: dilation is -1, must be at least 1");
  BOOST_TEST(but([](auto& s) { s.groups = 0; }) == "conv2d: groups is 0, must be at least 1");
  BOOST_TEST(but([](auto& s) { s.padding = -1; }) == "conv2d: padding is -1, must be at least 0");
  BOOST_TEST(but([](auto& s) { s.groups = 3; }) ==
             "conv2d: 3 groups do not divide 4 -> 8 channels");
  BOOST_TEST(but([](auto& s) { s.KW = 9; }) ==
             "conv2d: a window of 3 x 9 is larger than the padded input of 7 x 8");
  BOOST_TEST(but([](auto& s) { s.dilation = 4; }) ==
             "conv2d: a window of 9 x 9 is larger than the padded input of 7 x 8");
  BOOST_TEST(but([](auto& s) { s.B = std::int64_t{1} << 40; }) ==
             "conv2d: batch 1099511627776 x in 4 is too large");
  BOOST_TEST(but([](auto& s) { s.isa = "mmx"; }) ==
             "conv2d: instruction set `mmx` is unknown; the names are sse41, avx, avx2, avx2_vnni, "
             "avx512_core, avx512_core_vnni, avx512_core_bf16, avx512_core_amx");
}

BOOST_AUTO_TEST_SUITE_END()
