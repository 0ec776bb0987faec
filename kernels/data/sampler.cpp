#include "kernels/data/sampler.hpp"

#include "proto/base/check.hpp"
#include "proto/base/random.hpp"

namespace perigee::kernels {

std::uint64_t sample_of(std::uint64_t seed, std::uint64_t position, std::uint64_t count) noexcept {
  CHECK(count > 0);
  const std::uint64_t pass = position / count;
  const std::uint64_t key = random(seed, purpose::data_order, pass).word64();
  return permuted(position % count, count, key);
}

}  // namespace perigee::kernels
