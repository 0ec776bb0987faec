// The functions that every loop of ours is made of: how exact they are, and that no instruction set
// changes a bit.
#include "kernels/ops/vector_math.hpp"

#include "tests/kernels/op_run.hpp"

#include <boost/test/unit_test.hpp>

#include <immintrin.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace perigee::kernels::testing {
namespace {

// A function that is always inlined has no address to pass at low optimization levels.
constexpr auto exp_of = [](float x) { return vector_exp(x); };
constexpr auto sigmoid_of = [](float x) { return vector_sigmoid(x); };
constexpr auto tanh_of = [](float x) { return vector_tanh(x); };
constexpr auto share_of = [](float x) { return normal_share(x, vector_exp(-0.5F * (x * x))); };

/// Denormal numbers are numbers while it lives: a lane that ran before in this thread takes them as
/// zero.
class gradual_underflow {
public:
  gradual_underflow() : before_(_mm_getcsr()) { _mm_setcsr(0x1f80); }
  ~gradual_underflow() { _mm_setcsr(before_); }
  gradual_underflow(const gradual_underflow&) = delete;
  gradual_underflow& operator=(const gradual_underflow&) = delete;

private:
  unsigned before_;
};

/// Returns the largest error over [low, high] in units of the last place of the true value.
template <class Function, class Truth>
double worst_ulp(const Function& f, const Truth& truth, float low, float high) {
  const gradual_underflow numbers_as_ieee_has_them;
  double worst = 0;
  constexpr int samples = 200'000;
  for (int i = 0; i <= samples; ++i) {
    const float x = low + (high - low) * (static_cast<float>(i) / samples);
    const long double t = truth(static_cast<long double>(x));
    const float near = std::fabs(static_cast<float>(t));
    const long double ulp = std::nextafter(near, std::numeric_limits<float>::infinity()) - near;
    worst =
        std::max(worst, static_cast<double>(std::fabs(static_cast<long double>(f(x)) - t) / ulp));
  }
  return worst;
}

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

PERIGEE_INLINE float share(float x) { return normal_share(x, vector_exp(-0.5F * (x * x))); }

enum class function { exp, sigmoid, tanh, share };

PERIGEE_INLINE float value(function which, float x) {
  switch (which) {
    case function::exp:
      return vector_exp(x);
    case function::sigmoid:
      return vector_sigmoid(x);
    case function::tanh:
      return vector_tanh(x);
    case function::share:
      return share(x);
  }
  return 0;
}

PERIGEE_CLONES void apply(function which, const float* x, float* y, std::size_t count) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) y[i] = value(which, x[i]);
}

PERIGEE_CLONES float sum_by_clone(const float* x, std::size_t count) {
  return lane_sum(count, [&](const auto& at) PERIGEE_INLINE_LAMBDA { return at(x); });
}
PERIGEE_CLONES float max_by_clone(const float* x, std::size_t count) { return lane_max(count, x); }

/// The rule of lane_fold in scalars: lane i mod 16; 8, then 4, 2, 1 apart.
float sum_by_rule(const values& x) {
  float lane[16] = {};
  for (std::size_t i = 0; i < x.size(); ++i) lane[i % 16] += x[i];
  for (std::size_t apart = 8; apart != 0; apart /= 2)
    for (std::size_t i = 0; i < apart; ++i) lane[i] += lane[i + apart];
  return lane[0];
}

}  // namespace

BOOST_AUTO_TEST_SUITE(vector_math)

BOOST_AUTO_TEST_CASE(exp_is_within_one_unit_of_the_last_place) {
  const auto truth = [](long double x) { return std::exp(x); };
  BOOST_TEST(worst_ulp(exp_of, truth, -87.0F, 88.7F) <= 1.0);
  BOOST_TEST(worst_ulp(exp_of, truth, -1.0F, 1.0F) <= 1.0);
}

BOOST_AUTO_TEST_CASE(exp_goes_down_through_the_denormal_numbers) {
  BOOST_TEST(worst_ulp(
                 exp_of, [](long double x) { return std::exp(x); }, -103.9F, -87.0F) <= 1.0);
}

BOOST_AUTO_TEST_CASE(sigmoid_is_within_three_units_of_the_last_place) {
  const auto truth = [](long double x) { return 1 / (1 + std::exp(-x)); };
  BOOST_TEST(worst_ulp(sigmoid_of, truth, -87.0F, 87.0F) <= 3.0);
  BOOST_TEST(worst_ulp(sigmoid_of, truth, -2.0F, 2.0F) <= 3.0);
}

BOOST_AUTO_TEST_CASE(tanh_is_within_two_units_of_the_last_place) {
  const auto truth = [](long double x) { return std::tanh(x); };
  BOOST_TEST(worst_ulp(tanh_of, truth, -10.0F, 10.0F) <= 2.0);
  BOOST_TEST(worst_ulp(tanh_of, truth, -1.0F, 1.0F) <= 2.0);
  BOOST_TEST(worst_ulp(tanh_of, truth, -1e-3F, 1e-3F) <= 2.0);
}

BOOST_AUTO_TEST_CASE(the_normal_share_keeps_its_digits_into_the_tail) {
  const auto truth = [](long double x) { return std::erfc(-x / std::sqrt(2.0L)) / 2; };
  BOOST_TEST(worst_ulp(share_of, truth, -1.0F, 8.0F) <= 8.0);
  BOOST_TEST(worst_ulp(share_of, truth, -5.0F, -1.0F) <= 16.0);
  BOOST_TEST(worst_ulp(share_of, truth, -12.0F, -5.0F) <= 100.0);
}

BOOST_AUTO_TEST_CASE(ends_of_the_number_line_go_where_they_should) {
  BOOST_TEST(vector_exp(infinity) == infinity);
  BOOST_TEST(vector_exp(-infinity) == 0.0F);
  BOOST_TEST(vector_exp(88.8F) == infinity);
  BOOST_TEST(vector_exp(-105.0F) == 0.0F);
  BOOST_TEST(vector_exp(0.0F) == 1.0F);
  BOOST_TEST(vector_tanh(infinity) == 1.0F);
  BOOST_TEST(vector_tanh(-infinity) == -1.0F);
  BOOST_TEST(share(infinity) == 1.0F);
  BOOST_TEST(share(-infinity) == 0.0F);
  BOOST_TEST(vector_sigmoid(-infinity) == 0.0F);
}

BOOST_AUTO_TEST_CASE(what_is_no_number_stays_none) {
  BOOST_TEST(std::isnan(vector_exp(nan)));
  BOOST_TEST(std::isnan(vector_tanh(nan)));
  BOOST_TEST(std::isnan(share(nan)));
  BOOST_TEST(std::isnan(vector_sigmoid(nan)));
}

BOOST_AUTO_TEST_CASE(vectors_give_the_bits_of_one_value_at_a_time) {
  for (const function which : {function::exp, function::sigmoid, function::tanh, function::share}) {
    values x = deviates(100'003, 1, 1);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] *= i % 3 == 0 ? 40.0F : 2.0F;
    x[0] = infinity, x[1] = -infinity, x[2] = 0.0F, x[3] = -0.0F;
    values y(x.size());
    apply(which, x.data(), y.data(), x.size());
    std::size_t different = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const volatile float one = x[i];  // keeps this loop scalar
      different +=
          std::bit_cast<std::uint32_t>(value(which, one)) != std::bit_cast<std::uint32_t>(y[i]);
    }
    BOOST_TEST(different == 0U);
  }
}

BOOST_AUTO_TEST_CASE(a_range_may_be_split_anywhere) {
  const values x = deviates(203, 2, 1);
  values whole(x.size()), split(x.size());
  apply(function::tanh, x.data(), whole.data(), x.size());
  for (std::size_t at = 0; at <= x.size(); at += 7) {
    apply(function::tanh, x.data(), split.data(), at);
    apply(function::tanh, x.data() + at, split.data() + at, x.size() - at);
    BOOST_TEST(std::memcmp(whole.data(), split.data(), x.size() * sizeof(float)) == 0);
  }
}

BOOST_AUTO_TEST_CASE(a_sum_has_sixteen_lanes_whatever_the_vector_width) {
  for (std::size_t n = 0; n <= 70; ++n) {
    const values x = deviates(n, 3, n);
    BOOST_TEST(sum_by_clone(x.data(), n) == sum_by_rule(x), "n = " << n);
  }
}

BOOST_AUTO_TEST_CASE(the_largest_of_a_row_is_found_in_every_place) {
  for (std::size_t n = 1; n <= 40; ++n)
    for (std::size_t at = 0; at < n; ++at) {
      values x(n, -7.0F);
      x[at] = -3.0F;
      BOOST_TEST(max_by_clone(x.data(), n) == -3.0F);
    }
}

BOOST_AUTO_TEST_CASE(the_natural_logarithm_is_exact_to_f64) {
  for (const double x : {1e-300, 0.1, 0.70710678, 0.999999, 1.0, 1.41421357, 2.0, 65.0, 1e300})
    BOOST_TEST(std::fabs(natural_log(x) - std::log(x)) <= 4e-16 * (1 + std::fabs(std::log(x))),
               "ln " << x);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::kernels::testing
