#include "proto/base/random.hpp"

#include "proto/base/check.hpp"
#include "proto/base/hash.hpp"

#include <bit>
#include <cmath>

namespace perigee {

namespace {

struct word_pair {
  std::uint32_t high, low;
};

word_pair product(std::uint32_t a, std::uint32_t b) noexcept {
  const std::uint64_t both = std::uint64_t{a} * b;
  return {static_cast<std::uint32_t>(both >> 32U), static_cast<std::uint32_t>(both)};
}

constexpr double ln_2 = 0.693147180559945309417;
constexpr double pi = 3.14159265358979323846;
constexpr double sqrt_2 = 1.41421356237309504880;

/// Returns ln(x / 2^32) for x in [1, 2^32], relative error below 2^-50.
/// ln m = 2 artanh((m - 1) / (m + 1)) with m in [sqrt(1/2), sqrt(2)), by its series in ten terms.
double log_of_fraction(std::uint64_t x) noexcept {
  int exponent = static_cast<int>(std::bit_width(x)) - 1;
  double m = static_cast<double>(x) / static_cast<double>(std::uint64_t{1} << exponent);
  if (m >= sqrt_2) {
    m *= 0.5;
    ++exponent;
  }
  const double f = (m - 1) / (m + 1);
  const double square = f * f;
  double series = 0;
  for (int odd = 19; odd >= 1; odd -= 2) series = series * square + 1.0 / odd;
  return (exponent - 32) * ln_2 + 2 * f * series;
}

/// Returns cos(x) for |x| <= pi/4, by Taylor's series to x^16: error below 2^-53.
double cosine_near_zero(double x) noexcept {
  const double square = x * x;
  double series = 1;
  for (int n = 16; n >= 2; n -= 2) series = 1 - series * square / (n * (n - 1));
  return series;
}

/// Returns sin(x) for |x| <= pi/4, by Taylor's series to x^17: relative error below 2^-52.
double sine_near_zero(double x) noexcept {
  const double square = x * x;
  double series = 1;
  for (int n = 17; n >= 3; n -= 2) series = 1 - series * square / (n * (n - 1));
  return x * series;
}

/// Returns cos(2 pi turn / 2^32). The reduction to the nearest quarter turn is in integers, so
/// exact.
double cosine_of_turn(std::uint32_t turn) noexcept {
  constexpr std::uint32_t eighth = std::uint32_t{1} << 29U;
  const std::uint32_t quarter = (turn + eighth) >> 30U;
  const auto rest = static_cast<std::int32_t>(turn - (quarter << 30U));
  const double x = rest * (pi / 2147483648.0);
  switch (quarter) {
    case 0:
      return cosine_near_zero(x);
    case 1:
      return -sine_near_zero(x);
    case 2:
      return -cosine_near_zero(x);
    default:
      return sine_near_zero(x);
  }
}

/// One pass of the Feistel network over 2 * half_bits bits. Eight rounds: four are enough for a
/// permutation that no polynomial adversary tells from random (Luby and Rackoff); halves here may
/// be a few bits wide, where more rounds mix better.
std::uint64_t feistel(std::uint64_t value, unsigned half_bits, std::uint64_t key) noexcept {
  constexpr std::uint64_t rounds = 8;
  const std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
  std::uint64_t left = value >> half_bits;
  std::uint64_t right = value & mask;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::uint64_t next = left ^ (hash_of(key, round, right) & mask);
    left = right;
    right = next;
  }
  return (left << half_bits) | right;
}

}  // namespace

philox_counter philox4x32(philox_counter counter, philox_key key) noexcept {
  for (int round = 0; round < 10; ++round) {
    const word_pair a = product(0xD2511F53U, counter[0]);
    const word_pair b = product(0xCD9E8D57U, counter[2]);
    counter = {b.high ^ counter[1] ^ key[0], b.low, a.high ^ counter[3] ^ key[1], a.low};
    key[0] += 0x9E3779B9U;  // golden ratio
    key[1] += 0xBB67AE85U;  // sqrt(3) - 1
  }
  return counter;
}

// The seed is the key; purpose and stream fill three words of the counter, the block number the
// rest: word 0, and above the purpose's eight bits what overflows it.
random::random(std::uint64_t seed, purpose what, std::uint64_t stream) noexcept
    : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)},
      counter_{0, static_cast<std::uint32_t>(what), static_cast<std::uint32_t>(stream),
               static_cast<std::uint32_t>(stream >> 32U)} {}

std::uint32_t random::word() noexcept {
  if (used_ == block_.size()) {
    block_ = philox4x32(counter_, key_);
    if (++counter_[0] == 0) counter_[1] += 256;
    used_ = 0;
  }
  return block_[used_++];
}

std::uint64_t random::word64() noexcept {
  const std::uint64_t low = word();
  return low | (std::uint64_t{word()} << 32U);
}

std::uint64_t random::below(std::uint64_t bound) noexcept {
  CHECK(bound > 0);
  // The lowest 2^64 mod bound words are drawn again: what is left is a whole multiple of bound.
  const std::uint64_t unfair = (0 - bound) % bound;
  std::uint64_t drawn = word64();
  while (drawn < unfair) drawn = word64();
  return drawn % bound;
}

float random::uniform() noexcept {
  return static_cast<float>(word() >> 8U) * (1.0F / 16777216.0F);  // 24 bits: exact
}

// Two words a deviate; the sine half of the pair is not used, so that a deviate does not depend on
// the one before. All steps are in double, sqrt is IEEE's; their error is below 2^-49 relative
// before the one rounding to float. The largest possible deviate is sqrt(64 ln 2) = 6.66.
float random::normal() noexcept {
  const std::uint64_t radius_word = std::uint64_t{word()} + 1;
  const std::uint32_t turn = word();
  return static_cast<float>(std::sqrt(-2 * log_of_fraction(radius_word)) * cosine_of_turn(turn));
}

std::uint64_t permuted(std::uint64_t index, std::uint64_t size, std::uint64_t key) noexcept {
  CHECK(index < size);
  if (size == 1) return 0;
  const auto half_bits = static_cast<unsigned>(std::bit_width(size - 1) + 1) / 2;
  // The network permutes a power of four >= size. Walking its cycle from a value inside [0, size)
  // comes back inside, at the latest to the start; the domain is below 4 * size, so in less than
  // four steps on average.
  std::uint64_t at = feistel(index, half_bits, key);
  while (at >= size) at = feistel(at, half_bits, key);
  return at;
}

}  // namespace perigee
