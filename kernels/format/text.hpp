// Text as tokens: one a character, numbered in the order of their code points.
//
// The vocabulary is the sorted set of the characters that occur, as in nanoGPT's character data, so
// the same text has the same ids everywhere. Characters are Unicode code points. Bytes that are no
// UTF-8 are refused with their place and not taken one by one: a text in another encoding would
// train, and speak, in broken characters.
#pragma once

#include "proto/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace perigee::kernels {

struct encoded_text {
  std::vector<char32_t> vocabulary;  // sorted; a token's id is its index
  /// The tokens, in the narrowest width that holds every id.
  std::variant<std::vector<std::uint8_t>, std::vector<std::uint16_t>, std::vector<std::uint32_t>>
      tokens;
};

/// Fails with `malformed`, naming the first byte that is no UTF-8; `what` names the file.
result<encoded_text> encode_text(std::span<const std::byte> content, std::string_view what);

/// Returns a code point as UTF-8.
[[nodiscard]] std::string utf8(char32_t character);

}  // namespace perigee::kernels
