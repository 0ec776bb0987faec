#include "kernels/optimizer/rate.hpp"

namespace perigee::kernels {
namespace {

constexpr double pi = 3.14159265358979323846;

/// Taylor's series of cos and sin, from their term of x^n down; |x| <= pi / 4.
double cosine_series(double x) noexcept {
  const double square = x * x;
  double series = 1;
  for (int n = 18; n >= 2; n -= 2) series = 1 - series * square / (n * (n - 1));
  return series;
}

double sine_series(double x) noexcept {
  const double square = x * x;
  double series = 1;
  for (int n = 19; n >= 3; n -= 2) series = 1 - series * square / (n * (n - 1));
  return x * series;
}

}  // namespace

double cosine_of_half_turn(double x) noexcept {
  if (x > 0.5) return -cosine_of_half_turn(1 - x);
  return x <= 0.25 ? cosine_series(pi * x) : sine_series(pi * (0.5 - x));
}

double rate_at(const optimizer_spec& optimizer, const rate_spec& rate, std::uint64_t step,
               std::uint64_t steps) noexcept {
  const double full = optimizer.learning_rate;
  if (step < rate.warmup_steps)
    return full * (static_cast<double>(step + 1) / static_cast<double>(rate.warmup_steps));
  if (rate.kind == rate_kind::constant) return full;
  const std::uint64_t done = step - rate.warmup_steps;
  const std::uint64_t last = steps > rate.warmup_steps + 1 ? steps - rate.warmup_steps - 1 : 0;
  if (done >= last) return last == 0 ? full : full * rate.floor;
  const double x = static_cast<double>(done) / static_cast<double>(last);
  return full * (rate.floor + (1 - rate.floor) * (0.5 * (1 + cosine_of_half_turn(x))));
}

}  // namespace perigee::kernels
