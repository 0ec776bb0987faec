// Taylor's series of cosine and sine: the same bits everywhere, unlike a math library's.
#pragma once

namespace perigee {

/// Returns cos(x) for |x| <= pi / 4, to the term of x^18: error below 2^-53.
[[nodiscard]] constexpr double cosine_near_zero(double x) noexcept {
  const double square = x * x;
  double series = 1;
  for (int n = 18; n >= 2; n -= 2) series = 1 - series * square / (n * (n - 1));
  return series;
}

/// Returns sin(x) for |x| <= pi / 4, to the term of x^19: relative error below 2^-52.
[[nodiscard]] constexpr double sine_near_zero(double x) noexcept {
  const double square = x * x;
  double series = 1;
  for (int n = 19; n >= 3; n -= 2) series = 1 - series * square / (n * (n - 1));
  return x * series;
}

}  // namespace perigee
