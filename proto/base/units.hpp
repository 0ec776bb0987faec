// Integer units: bytes and durations that do not mix.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>

namespace perigee {

/// All durations are whole nanoseconds: decisions use no floating point.
using duration = std::chrono::nanoseconds;

struct bytes {
  std::uint64_t count = 0;
  friend constexpr auto operator<=>(const bytes&, const bytes&) = default;
  constexpr bytes& operator+=(bytes other) {
    count += other.count;
    return *this;
  }
  friend constexpr bytes operator+(bytes a, bytes b) { return {a.count + b.count}; }
  friend constexpr bytes operator-(bytes a, bytes b) { return {a.count - b.count}; }
  friend constexpr bytes operator*(bytes a, std::uint64_t times) { return {a.count * times}; }
};

/// Returns e.g. `512 B`, `1.5 MiB`: one decimal, binary units.
[[nodiscard]] std::string text(bytes size);

/// Returns e.g. `850 ns`, `1.2 ms`, `3.4 s`: one decimal.
[[nodiscard]] std::string text(duration time);

}  // namespace perigee
