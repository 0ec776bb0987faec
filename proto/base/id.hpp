// Typed identifiers: mixing up two kinds of id does not compile.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace perigee {

template <class Tag, class Rep>
struct typed_id {
  Rep value{};
  friend constexpr auto operator<=>(const typed_id&, const typed_id&) = default;
};

/// A peer for its whole life; 0 is nobody. Small values are the test beds' (p1, p2, …), others are
/// drawn at random.
using peer_id = typed_id<struct peer_tag, std::uint64_t>;

/// 128 bits that name content: a job by its specification, a state by its bytes.
struct digest128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend constexpr auto operator<=>(const digest128&, const digest128&) = default;
};

using job_id = typed_id<struct job_tag, digest128>;

/// Returns `p7` for small ids, else sixteen hexadecimal digits after a `p`.
[[nodiscard]] std::string text(peer_id id);

/// Returns 32 hexadecimal digits.
[[nodiscard]] std::string text(const digest128& digest);

/// Returns the first 12 hexadecimal digits: enough for a person to tell jobs apart.
[[nodiscard]] std::string text(job_id id);

}  // namespace perigee
