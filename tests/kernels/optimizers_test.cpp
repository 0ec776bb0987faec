// Optimizers, rates and clipping against plain loops and against the numbers that fix them.
#include "kernels/optimizer/optimizer.hpp"

#include "kernels/optimizer/clip.hpp"
#include "kernels/optimizer/rate.hpp"
#include "kernels/reference/flat.hpp"
#include "tests/kernels/op_run.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>

namespace perigee::kernels::testing {
namespace {

const optimizer_spec specs[] = {
    {.kind = optimizer_kind::sgd, .learning_rate = 0.1},
    {.kind = optimizer_kind::sgd, .learning_rate = 0.1, .weight_decay = 0.01},
    {.kind = optimizer_kind::sgd, .learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.01},
    {.kind = optimizer_kind::sgd, .learning_rate = 0.1, .momentum = 0.9, .nesterov = true},
    {.kind = optimizer_kind::adam, .learning_rate = 0.01, .weight_decay = 0.01},
    {.kind = optimizer_kind::adamw, .learning_rate = 0.01, .weight_decay = 0.1, .beta2 = 0.95}};

/// A parameter with its moments, all of `count` values.
struct state {
  values param, moment1, moment2;
  friend bool operator==(const state&, const state&) = default;
};

state fresh(const optimizer& by, std::size_t count) {
  const std::uint32_t moments = by.moment_count();
  return {deviates(count, 1, 0), values(moments >= 1 ? count : 0),
          values(moments >= 2 ? count : 0)};
}

/// One step on [first, last) of `s`.
void move(const optimizer& by, state& s, std::uint64_t step, std::size_t first, std::size_t last) {
  const values grad = deviates(s.param.size(), 1, 10 + step);
  const auto part = [&](values& all) {
    return all.empty() ? std::span<float>() : std::span(all).subspan(first, last - first);
  };
  by.update({.step = step,
             .rate = 0.01,
             .scale = 0.7,
             .param = part(s.param),
             .grad = std::span(grad).subspan(first, last - first),
             .moment1 = part(s.moment1),
             .moment2 = part(s.moment2)});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(optimizers)

BOOST_AUTO_TEST_CASE(updates_agree_with_plain_loops) {
  for (const optimizer_spec& spec : specs) {
    const optimizer by(spec);
    state s = fresh(by, 77), expected = s;
    for (std::uint64_t step = 0; step < 20; ++step) {
      const values grad = deviates(77, 1, 10 + step);
      move(by, s, step, 0, 77);
      reference::update(spec, {.step = step,
                               .rate = 0.01,
                               .scale = 0.7,
                               .param = expected.param,
                               .grad = grad,
                               .moment1 = expected.moment1,
                               .moment2 = expected.moment2});
    }
    BOOST_TEST(worst_error(s.param, expected.param) <= 1e-6);
    BOOST_TEST(worst_error(s.moment1, expected.moment1) <= 1e-6);
    BOOST_TEST(worst_error(s.moment2, expected.moment2) <= 1e-6);
  }
}

BOOST_AUTO_TEST_CASE(a_parameter_may_be_updated_in_parts) {
  for (const optimizer_spec& spec : specs) {
    const optimizer by(spec);
    state whole = fresh(by, 101), parts = whole;
    for (std::uint64_t step = 0; step < 3; ++step) {
      const std::size_t at = 13 + 17 * step;
      move(by, whole, step, 0, 101);
      move(by, parts, step, at, 101);
      move(by, parts, step, 0, at);
    }
    BOOST_TEST((whole == parts));
  }
}

BOOST_AUTO_TEST_CASE(moments_are_as_many_as_the_kind_needs) {
  BOOST_TEST(optimizer(specs[0]).moment_count() == 0U);
  BOOST_TEST(optimizer(specs[2]).moment_count() == 1U);
  BOOST_TEST(optimizer(specs[4]).moment_count() == 2U);
  BOOST_TEST(optimizer(specs[5]).moment_count() == 2U);
}

BOOST_AUTO_TEST_CASE(the_first_momentum_is_the_gradient) {
  const optimizer by(specs[3]);
  state s = fresh(by, 5);
  const values grad = deviates(5, 1, 10);
  move(by, s, 0, 0, 5);
  for (std::size_t i = 0; i < 5; ++i) BOOST_TEST(s.moment1[i] == grad[i] * 0.7F);
}

BOOST_AUTO_TEST_CASE(whole_powers_are_exact_but_for_rounding) {
  BOOST_TEST(whole_power(0.9, 0) == 1.0);
  BOOST_TEST(whole_power(2, 62) == 4611686018427387904.0);
  // Each squaring doubles the relative error: at most 12345 roundings of 1.1e-16.
  BOOST_TEST(std::fabs(whole_power(0.999, 12345) / std::pow(0.999, 12345) - 1) < 1.4e-12);
  BOOST_TEST(whole_power(0.5, 5000) == 0.0);
}

BOOST_AUTO_TEST_CASE(the_cosine_is_exact_to_f64) {
  for (int i = 0; i <= 1000; ++i) {
    const double x = i / 1000.0;
    BOOST_TEST(std::fabs(cosine_of_half_turn(x) - std::cos(std::acos(-1.0) * x)) < 4e-16);
  }
  BOOST_TEST(cosine_of_half_turn(0) == 1.0);
  BOOST_TEST(cosine_of_half_turn(0.5) == 0.0);
  BOOST_TEST(cosine_of_half_turn(1) == -1.0);
}

BOOST_AUTO_TEST_CASE(warm_up_rises_in_equal_steps_to_the_full_rate) {
  const rate_spec warm{.kind = rate_kind::constant, .warmup_steps = 4};
  const double expected[] = {0.25, 0.5, 0.75, 1, 1, 1};
  for (std::uint64_t step = 0; step < 6; ++step)
    BOOST_TEST(rate_at({.learning_rate = 1}, warm, step, 6) == expected[step]);
}

BOOST_AUTO_TEST_CASE(the_cosine_falls_from_the_full_rate_to_its_floor) {
  const rate_spec cosine{.kind = rate_kind::cosine, .warmup_steps = 2, .floor = 0.1};
  const optimizer_spec one{.learning_rate = 2};
  BOOST_TEST(rate_at(one, cosine, 0, 13) == 1.0);
  BOOST_TEST(rate_at(one, cosine, 2, 13) == 2.0);
  BOOST_TEST(std::fabs(rate_at(one, cosine, 7, 13) - 2 * 0.55) < 1e-15);
  BOOST_TEST(rate_at(one, cosine, 12, 13) == 0.2);
  BOOST_TEST(rate_at(one, cosine, 100, 13) == 0.2);
}

BOOST_AUTO_TEST_CASE(a_cosine_of_one_step_has_the_full_rate) {
  BOOST_TEST(rate_at({.learning_rate = 3}, {.kind = rate_kind::cosine}, 0, 1) == 3.0);
}

BOOST_AUTO_TEST_CASE(sums_of_squares_have_eight_lanes) {
  for (std::size_t n = 0; n < 40; ++n) {
    const values x = deviates(n, 4, n);
    double lane[8] = {};
    for (std::size_t i = 0; i < n; ++i)
      lane[i % 8] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    const double expected =
        ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7]));
    BOOST_TEST(sum_of_squares(x) == expected, "n = " << n);
  }
}

BOOST_AUTO_TEST_CASE(a_gradient_is_clipped_to_the_limit_and_never_grown) {
  const double sums[] = {9.0, 16.0};
  BOOST_TEST(gradient_norm(sums) == 5.0);
  BOOST_TEST(clip_scale(5, 1) == 1 / (5 + 1e-6));
  BOOST_TEST(clip_scale(0.5, 1) == 1.0);
  BOOST_TEST(clip_scale(0, 1) == 1.0);
  BOOST_TEST(clip_scale(5, 0) == 1.0);
  BOOST_TEST(std::isnan(clip_scale(std::nan(""), 1)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::kernels::testing
