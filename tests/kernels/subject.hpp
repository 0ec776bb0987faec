// An operator under test, with everything it is held against.
#pragma once

#include "tests/kernels/op_run.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <string>

namespace perigee::kernels::testing {

/// Returns whether two runs gave the same bits, NaNs and signs of zeros included.
inline bool same_bits(const values& a, const values& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

inline bool same_bits(const results& a, const results& b) {
  bool same = a.loss == b.loss && a.out.size() == b.out.size();
  for (std::size_t i = 0; same && i < a.out.size(); ++i) same = same_bits(a.out[i], b.out[i]);
  for (std::size_t i = 0; same && i < a.dparam.size(); ++i)
    same = same_bits(a.dparam[i], b.dparam[i]);
  for (std::size_t i = 0; same && i < a.din.size(); ++i)  // only where both were asked for it
    same = a.din[i].empty() || b.din[i].empty() || same_bits(a.din[i], b.din[i]);
  return same;
}

template <class Shape>
struct subject {
  result<op_ptr> (*make)(const Shape&);
  result<op_ptr> (*make_baseline)(const Shape&);  // the same source for SSE2 alone, no clones
  void (*forward)(const Shape&, const op_call&);  // plain loops
  void (*backward)(const Shape&, const op_call&);
  double tolerance;  // of the largest value

  /// Holds it against plain loops, its baseline, itself in place, itself with fewer gradients
  /// wanted, and differences.
  void check(const Shape& s, const operands& given) const {
    op_ptr built = std::move(*make(s));
    const results got = run(*built, given);
    against_plain_loops(s, *built, given, got);
    op_ptr baseline = std::move(*make_baseline(s));
    BOOST_TEST(same_bits(run(*baseline, given), got), "baseline gives the same bits");
    if (built->needs().in_place) against_itself_in_place(*built, given, got);
    for (std::size_t i = 0; i < given.in.size(); ++i) {
      manner how{.in_place = false, .without = std::vector<bool>(given.in.size(), false)};
      how.without[i] = true;
      BOOST_TEST(same_bits(run(*built, given, how), got), "one gradient fewer, the rest the same");
    }
    against_differences(*built, given, got);
  }

private:
  void against_plain_loops(const Shape& s, const op& built, const operands& given,
                           const results& got) const {
    const results expected = run_plainly(
        built.needs(), given, [&](const op_call& c) { forward(s, c); },
        [&](const op_call& c) { backward(s, c); });
    for (std::size_t i = 0; i < got.out.size(); ++i)
      BOOST_TEST(worst_error(got.out[i], expected.out[i]) <= tolerance, "out " << i);
    for (std::size_t i = 0; i < got.dparam.size(); ++i)
      BOOST_TEST(worst_error(got.dparam[i], expected.dparam[i]) <= tolerance, "dparam " << i);
    for (std::size_t i = 0; i < got.din.size(); ++i)
      if (!got.din[i].empty() && differentiable(given, i))
        BOOST_TEST(worst_error(got.din[i], expected.din[i]) <= tolerance, "din " << i);
    BOOST_TEST(std::fabs(got.loss - expected.loss) <= tolerance * (1 + std::fabs(expected.loss)));
  }

  static bool differentiable(const operands& given, std::size_t i) {
    return i >= given.numbers.size() || given.numbers[i].empty();
  }

  static void against_itself_in_place(op& built, const operands& given, const results& got) {
    const results there = run(built, given, {.in_place = true, .without = {}});
    BOOST_TEST(same_bits(there, got), "in place gives the same bits");
  }

  /// What the gradients say of a random direction against what forward says: their difference, as a
  /// share of the gradient's length, stays below 0.01 (steps of 0.01 in f32 leave about 0.002).
  static void against_differences(op& built, const operands& given, const results& got) {
    constexpr float step = 0.01F;
    operands ahead = given, behind = given;
    double predicted = 0, squares = 0;
    random draw(given.seed, purpose::simulation, 99);
    const auto turn = [&](values& plus, values& minus, const values& gradient, float before) {
      for (std::size_t k = 0; k < plus.size(); ++k) {
        const float sign = draw.word() % 2 == 0 ? step : -step;
        plus[k] += sign, minus[k] -= sign;
        const double g = static_cast<double>(gradient[k]) - static_cast<double>(before);
        predicted += g * static_cast<double>(sign);
        squares += g * g;
      }
    };
    for (std::size_t i = 0; i < given.in.size(); ++i)
      if (differentiable(given, i)) turn(ahead.in[i], behind.in[i], got.din[i], 0);
    for (std::size_t i = 0; i < given.param.size(); ++i)
      turn(ahead.param[i], behind.param[i], got.dparam[i], gradient_before);
    const double seen = (objective(built, ahead) - objective(built, behind)) / 2;
    const double scale = std::sqrt(squares) * static_cast<double>(step);
    BOOST_TEST(std::fabs(seen - predicted) <= 0.01 * scale + 1e-6,
               "differences " << seen << ", gradients " << predicted << ", scale " << scale);
  }

  /// The scalar whose gradient `given.dout` and `given.loss_scale` stand for.
  static double objective(op& built, const operands& given) {
    const results r = run(built, given);
    double sum = r.loss * given.loss_scale;
    for (std::size_t i = 0; i < r.out.size(); ++i)
      for (std::size_t k = 0; k < r.out[i].size(); ++k)
        sum += static_cast<double>(r.out[i][k]) * static_cast<double>(given.dout[i][k]);
    return sum;
  }
};

}  // namespace perigee::kernels::testing
