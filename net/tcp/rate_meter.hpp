// How fast a connection takes bytes, and how large a chunk may therefore be.
//
// Guarantees  chunk_min <= chunk <= chunk_max, and no more than chunk_time of the measured rate.
// Threads     none; one owner.
#pragma once

#include "net/limits.hpp"
#include "proto/base/units.hpp"

#include <algorithm>
#include <cstdint>

namespace perigee::net {

class rate_meter {
public:
  /// `size` bytes (at most chunk_max) took `time` to hand over.
  void add(bytes size, duration time) noexcept {
    // Old observations fade by an eighth each time: the newest eight or so chunks count.
    const auto time_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 1));
    bytes_ = bytes_ - bytes_ / 8 + size.count;
    time_ns_ = time_ns_ - time_ns_ / 8 + time_ns;
  }

  [[nodiscard]] bytes chunk() const noexcept {
    if (time_ns_ == 0) return {limits::chunk_min * 4};
    const auto chunk_ns = static_cast<std::uint64_t>(limits::chunk_time.count());
    return {std::clamp(bytes_ * chunk_ns / time_ns_, limits::chunk_min, limits::chunk_max)};
  }

private:
  std::uint64_t bytes_ = 0;
  std::uint64_t time_ns_ = 0;
};

}  // namespace perigee::net
