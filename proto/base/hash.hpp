// A small 64-bit hash of our own: for ranks, plan digests and simulated values, never for content
// from outside.
//
// Guarantees  the same value on every machine and compiler; order-sensitive.
// Source      the finaliser is that of SplitMix64 (Steele, Lea, Flood, 2014).
#pragma once

#include <cstdint>
#include <string_view>

namespace perigee {

[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

/// Returns a hash of (a, b) that differs from that of (b, a).
[[nodiscard]] constexpr std::uint64_t hash_of(std::uint64_t a, std::uint64_t b) noexcept {
  return mixed(mixed(a) ^ (b * 0xd6e8feb86659fd93U + 0x2545f4914f6cdd1dU));
}

template <class... Rest>
[[nodiscard]] constexpr std::uint64_t hash_of(std::uint64_t a, std::uint64_t b,
                                              Rest... rest) noexcept {
  return hash_of(hash_of(a, b), static_cast<std::uint64_t>(rest)...);
}

[[nodiscard]] constexpr std::uint64_t hash_of(std::string_view words) noexcept {
  std::uint64_t h = words.size();
  for (const char c : words) h = hash_of(h, static_cast<unsigned char>(c));
  return h;
}

}  // namespace perigee
