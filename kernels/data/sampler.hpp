// The order of samples: an endless sequence of passes, each a keyed permutation of the data set.
//
// Mini-batches run over the sequence without a seam, so that each is full and a pass may end inside
// one; a job's place in its data is one integer.
//
// Guarantees  a function of its arguments alone, in constant time and without a table; in each pass
//             every sample stands exactly once.
#pragma once

#include <cstdint>

namespace perigee::kernels {

/// Returns the sample at `position` of the sequence over `count` samples; count > 0.
[[nodiscard]] std::uint64_t sample_of(std::uint64_t seed, std::uint64_t position,
                                      std::uint64_t count) noexcept;

}  // namespace perigee::kernels
