// Looks through TOML before toml++ does, whose behaviour is undefined for some letters beyond ASCII
// outside quotes and comments (its test for wide spaces ends in an unreachable place). TOML allows
// none there.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace perigee::actors {

/// Counted from 1, columns in letters.
struct toml_place {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  friend bool operator==(const toml_place&, const toml_place&) = default;
};

/// Returns the first letter beyond ASCII that is in no text and no comment. Looks no further than a
/// text that does not end: the parser refuses that.
[[nodiscard]] std::optional<toml_place> stray_letter(std::string_view toml);

}  // namespace perigee::actors
