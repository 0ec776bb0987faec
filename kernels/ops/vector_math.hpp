// Loops that give the same bits on every CPU: own exp, tanh and normal share, and sums over fixed
// lanes.
//
// A function marked PERIGEE_CLONES is compiled for three instruction sets and the best one runs.
// All give the same bits, for three reasons: element-wise code does the same IEEE operations on
// each element in the same order and nothing is contracted (-ffp-contract=off); a sum has sixteen
// lanes whatever the vector width, element i belongs to lane i mod 16, and the lanes are combined
// in one order; nothing calls the C library, whose functions differ from machine to machine.
//
// Requires    what a clone calls is PERIGEE_INLINE: a call would leave the clone's instruction set.
// Accuracy    largest error in units of the last place, measured over dense samples of all
//             magnitudes (tests/kernels/vector_math_test.cpp): exp 1, tanh 2, sigmoid 3; the normal
//             share 8 above -1, growing with x² to 12 at -5 and 66 at -12 (absolute: 2.3e-7).
#pragma once

#include <cstddef>
#include <cstdint>

#ifndef PERIGEE_CLONES
#define PERIGEE_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#endif
#define PERIGEE_INLINE inline __attribute__((always_inline))
#define PERIGEE_INLINE_LAMBDA __attribute__((always_inline))

// Vectors never cross a call (everything is inlined), so how they would be passed does not matter.
// Not restored at the end: the warning comes where a user's lambda is instantiated.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace perigee::kernels {

// ---- element-wise functions ---------------------------------------------------------------------

PERIGEE_INLINE float smaller(float a, float b) { return b < a ? b : a; }
PERIGEE_INLINE float larger(float a, float b) { return b > a ? b : a; }

PERIGEE_INLINE float magnitude(float x) {
  return __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, x) & 0x7fffffffU);
}

/// Returns `size` (not negative) with the sign of `sign`.
PERIGEE_INLINE float with_sign(float size, float sign) {
  return __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, size) |
                                       (__builtin_bit_cast(std::uint32_t, sign) & 0x80000000U));
}

/// e^x = 2^n e^r, |r| <= ln 2 / 2. Infinite above 88.73, zero below -103.98; NaN stays NaN.
PERIGEE_INLINE float vector_exp(float x) {
  const float bounded = larger(smaller(x, 89.0F), -104.0F);  // both keep a NaN in their first place
  constexpr float shift = 12582912.0F;                       // 1.5 * 2^23: adding it rounds
  const float shifted = bounded * 1.44269504F + shift;
  const float n = shifted - shift;
  const float r = (bounded - n * 0.693359375F) - n * -2.12194440e-4F;  // the first product is exact
  float q = 1.3813142e-3F;
  q = q * r + 8.3694190e-3F;
  q = q * r + 4.1668456e-2F;
  q = q * r + 1.6666515e-1F;
  q = q * r + 4.9999993e-1F;
  const float p = (q * (r * r) + r) + 1.0F;
  // 2^n in two factors, since n reaches from -150 (a denormal result) to 128.
  const std::int32_t whole = __builtin_bit_cast(std::int32_t, shifted) - 0x4b400000;
  const std::int32_t half = whole >> 1;
  const auto power = [](std::int32_t e) PERIGEE_INLINE_LAMBDA {
    return __builtin_bit_cast(float, (static_cast<std::uint32_t>(e) + 127U) << 23U);
  };
  return (p * power(half)) * power(whole - half);
}

PERIGEE_INLINE float vector_sigmoid(float x) { return 1.0F / (1.0F + vector_exp(-x)); }

/// Odd polynomial below 0.625, 1 - 2 / (e^2|x| + 1) above.
PERIGEE_INLINE float vector_tanh(float x) {
  const float size = magnitude(x);
  const float s = x * x;
  float p = -5.7170366e-3F;
  p = p * s + 2.0650579e-2F;
  p = p * s + -5.3743495e-2F;
  p = p * s + 1.3331491e-1F;
  p = p * s + -3.3333284e-1F;
  const float near = (p * s) * x + x;
  const float far = with_sign(1.0F - 2.0F / (vector_exp(size + size) + 1.0F), x);
  return size < 0.625F ? near : far;
}

/// The share of the normal distribution below x, (1 + erf(x / sqrt 2)) / 2, given its bell
/// e^(-x²/2), which whoever needs the slope needs too. The tail is bell * u P(u), u = 1 / (1 + 0.3
/// |x|), P fitted over |x| <= 14, beyond which the bell is zero.
PERIGEE_INLINE float normal_share(float x, float bell) {
  const float u = 1.0F / (1.0F + 0.3F * magnitude(x));
  float p = 3.5675415e-2F;
  p = p * u + -1.5720567e-1F;
  p = p * u + 2.0635776e-1F;
  p = p * u + -5.3687344e-2F;
  p = p * u + 1.2856345e-1F;
  p = p * u + 9.9912982e-2F;
  p = p * u + 1.2075403e-1F;
  p = p * u + 1.1962929e-1F;
  const float tail = bell * (u * p);
  return x < 0 ? tail : 1.0F - tail;
}

// ---- sums over sixteen lanes --------------------------------------------------------------------

using f32x8 = float __attribute__((vector_size(32)));
using i32x8 = std::int32_t __attribute__((vector_size(32)));

/// Reads eight neighbouring values of any array, from a fixed place.
struct eight_at {
  std::size_t first;
  PERIGEE_INLINE f32x8 operator()(const float* array) const {
    f32x8 v;
    __builtin_memcpy(&v, array + first, sizeof v);
    return v;
  }
};

/// The same where the array ends after `count` < 8 more; zeros follow.
struct fewer_at {
  std::size_t first, count;
  PERIGEE_INLINE f32x8 operator()(const float* array) const {
    float padded[8] = {};
    for (std::size_t i = 0; i < count; ++i) padded[i] = array[first + i];
    f32x8 v;
    __builtin_memcpy(&v, padded, sizeof v);
    return v;
  }
};

/// Keeps the first `count` values of `v` and puts `otherwise` in the other places.
PERIGEE_INLINE void keep_first(f32x8& v, std::size_t count, float otherwise) {
  const i32x8 place = {0, 1, 2, 3, 4, 5, 6, 7};
  const f32x8 rest = otherwise - f32x8{};
  v = place < static_cast<std::int32_t>(count) ? v : rest;
}

/// Folds `term` over [0, n) into sixteen lanes and these into one value. `term(at)` returns eight
/// terms; it reads an array by `at(array)`. `combine` joins two vectors lane by lane.
template <class Term, class Combine>
PERIGEE_INLINE float lane_fold(std::size_t n, float start, const Term& term,
                               const Combine& combine) {
  f32x8 low = start - f32x8{}, high = low;
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    low = combine(low, term(eight_at{i}));
    high = combine(high, term(eight_at{i + 8}));
  }
  if (i + 8 <= n) {
    low = combine(low, term(eight_at{i}));
    i += 8;
    if (i < n) {
      f32x8 last = term(fewer_at{i, n - i});
      keep_first(last, n - i, start);
      high = combine(high, last);
    }
  } else if (i < n) {
    f32x8 last = term(fewer_at{i, n - i});
    keep_first(last, n - i, start);
    low = combine(low, last);
  }
  f32x8 all = combine(low, high);
  all = combine(all, __builtin_shuffle(all, i32x8{4, 5, 6, 7, 0, 1, 2, 3}));
  all = combine(all, __builtin_shuffle(all, i32x8{2, 3, 0, 1, 6, 7, 4, 5}));
  all = combine(all, __builtin_shuffle(all, i32x8{1, 0, 3, 2, 5, 4, 7, 6}));
  return all[0];
}

/// Returns the sum of `term` over [0, n); 0 for n = 0.
template <class Term>
PERIGEE_INLINE float lane_sum(std::size_t n, const Term& term) {
  return lane_fold(n, 0.0F, term,
                   [](const f32x8& a, const f32x8& b) PERIGEE_INLINE_LAMBDA { return a + b; });
}

/// Returns the largest of `values`; a NaN among them may or may not be seen.
PERIGEE_INLINE float lane_max(std::size_t n, const float* values) {
  return lane_fold(
      n, -__builtin_inff(), [&](const auto& at) PERIGEE_INLINE_LAMBDA { return at(values); },
      [](const f32x8& a, const f32x8& b) PERIGEE_INLINE_LAMBDA { return b > a ? b : a; });
}

// ---- single f64 values --------------------------------------------------------------------------

/// Returns ln x for normal x > 0, within 1e-15 of its size: m 2^e, m in [sqrt 1/2, sqrt 2), and the
/// series of the inverse hyperbolic tangent.
inline double natural_log(double x) {
  const auto raw = __builtin_bit_cast(std::uint64_t, x);
  auto e = static_cast<std::int64_t>(raw >> 52U) - 1023;
  double m =
      __builtin_bit_cast(double, (raw & 0xfffffffffffffULL) | 0x3ff0000000000000ULL);  // [1, 2)
  if (m > 1.4142135623730951) m *= 0.5, ++e;
  const double s = (m - 1) / (m + 1), square = s * s;
  double series = 0;
  for (int k = 25; k >= 1; k -= 2) series = series * square + 1.0 / k;
  const double n = static_cast<double>(e);
  return n * 0.693147180369123816490 + (2 * s * series + n * 1.90821492927058770002e-10);
}

}  // namespace perigee::kernels
