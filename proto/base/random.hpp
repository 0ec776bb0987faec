// Counter-based randomness: Philox4x32-10, streams keyed by what they are for, and keyed
// permutations.
//
// Nothing here has a hidden state that depends on the order of calls elsewhere: a number is a
// function of (seed, purpose, counter), so that any peer draws the same one for the same thing.
//
// Source  Philox: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section
//         3.3 and table 2. Permutation: a balanced Feistel network with cycle walking (Black and
//         Rogaway, CT-RSA 2002, section 3).
#pragma once

#include <array>
#include <cstdint>

namespace perigee {

using philox_counter = std::array<std::uint32_t, 4>;
using philox_key = std::array<std::uint32_t, 2>;

/// Returns the four words of one Philox4x32-10 block.
[[nodiscard]] philox_counter philox4x32(philox_counter counter, philox_key key) noexcept;

/// What a random number is for: different purposes never share a stream.
enum class purpose : std::uint32_t {
  weights = 1,
  data_order = 2,
  dropout = 3,
  augmentation = 4,
  simulation = 5,
  identity = 6,
  sampling = 7
};

/// A stream of numbers for one thing: (seed, purpose, stream) fix every one of them.
class random {
public:
  random(std::uint64_t seed, purpose what, std::uint64_t stream) noexcept;

  [[nodiscard]] std::uint32_t word() noexcept;
  [[nodiscard]] std::uint64_t word64() noexcept;
  /// Returns a number in [0, bound), without bias; bound > 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) noexcept;
  /// Returns a number in [0, 1) with 24 random bits.
  [[nodiscard]] float uniform() noexcept;
  /// Returns a normal deviate (Box and Muller, 1958), computed by own polynomials: the same bits
  /// everywhere.
  [[nodiscard]] float normal() noexcept;

private:
  philox_key key_{};
  philox_counter counter_{};
  philox_counter block_{};
  unsigned used_ = 4;
};

/// Returns where position `index` of [0, size) goes under the keyed permutation; O(1), no table;
/// index < size.
[[nodiscard]] std::uint64_t permuted(std::uint64_t index, std::uint64_t size,
                                     std::uint64_t key) noexcept;

}  // namespace perigee
