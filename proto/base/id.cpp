#include "proto/base/id.hpp"

#include <string_view>

namespace perigee {

namespace {

// Ids below this are counted, not drawn: a drawn one falls here once in 10^13.
constexpr std::uint64_t small_ids_end = 1'000'000;

std::string hexadecimal(std::uint64_t value) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string line(16, '0');
  for (auto at = line.rbegin(); at != line.rend(); ++at, value >>= 4U) *at = digits[value & 15U];
  return line;
}

}  // namespace

std::string text(peer_id id) {
  return 'p' + (id.value < small_ids_end ? std::to_string(id.value) : hexadecimal(id.value));
}

std::string text(const digest128& digest) {
  return hexadecimal(digest.high) + hexadecimal(digest.low);
}

std::string text(job_id id) { return text(id.value).substr(0, 12); }

}  // namespace perigee
