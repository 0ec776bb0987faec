#include "kernels/format/text.hpp"

#include <limits>

namespace perigee::kernels {

namespace {

constexpr std::size_t code_points = 0x110000;
constexpr char32_t no_character = 0xffffffff;

/// What the first byte of a character says: how many follow, the bits it gives, and the least code
/// point that needs so many.
struct lead {
  unsigned followers;
  char32_t bits;
  char32_t least;
};

constexpr lead lead_of(unsigned byte) {
  if (byte < 0x80) return {0, byte, 0};
  if (byte >= 0xc0 && byte < 0xe0) return {1, byte & 0x1fU, 0x80};
  if (byte >= 0xe0 && byte < 0xf0) return {2, byte & 0x0fU, 0x800};
  if (byte >= 0xf0 && byte < 0xf8) return {3, byte & 0x07U, 0x10000};
  return {0, no_character, 0};
}

/// Returns the character at `at` and moves behind it; `no_character` if there is none.
char32_t next_character(std::span<const std::byte> content, std::size_t& at) {
  const lead first = lead_of(std::to_integer<unsigned>(content[at]));
  if (first.bits == no_character || content.size() - at <= first.followers) return no_character;
  char32_t character = first.bits;
  for (unsigned i = 1; i <= first.followers; ++i) {
    const auto byte = std::to_integer<unsigned>(content[at + i]);
    if ((byte & 0xc0U) != 0x80) return no_character;
    character = (character << 6U) | (byte & 0x3fU);
  }
  const bool surrogate = character >= 0xd800 && character < 0xe000;
  if (character < first.least || surrogate || character >= code_points) return no_character;
  at += 1 + first.followers;
  return character;
}

template <class Id>
std::vector<Id> ids_of(std::span<const std::byte> content, std::size_t count,
                       const std::vector<std::uint32_t>& id_of) {
  std::vector<Id> ids;
  ids.reserve(count);
  for (std::size_t at = 0; at < content.size();) {
    ids.push_back(static_cast<Id>(id_of[next_character(content, at)]));
  }
  return ids;
}

}  // namespace

result<encoded_text> encode_text(std::span<const std::byte> content, std::string_view what) {
  std::vector<std::uint32_t> id_of(code_points, 0);  // first: 1 = occurs
  std::size_t count = 0;
  for (std::size_t at = 0; at < content.size(); ++count) {
    const char32_t character = next_character(content, at);
    if (character == no_character) {
      return error{errc::malformed,
                   "text " + std::string(what) + ": no UTF-8 at byte " + std::to_string(at)};
    }
    id_of[character] = 1;
  }
  encoded_text text;
  for (char32_t character = 0; character < code_points; ++character) {
    if (id_of[character] == 0) continue;
    id_of[character] = static_cast<std::uint32_t>(text.vocabulary.size());
    text.vocabulary.push_back(character);
  }
  if (text.vocabulary.size() <= std::numeric_limits<std::uint8_t>::max() + std::size_t{1}) {
    text.tokens = ids_of<std::uint8_t>(content, count, id_of);
  } else if (text.vocabulary.size() <= std::numeric_limits<std::uint16_t>::max() + std::size_t{1}) {
    text.tokens = ids_of<std::uint16_t>(content, count, id_of);
  } else {
    text.tokens = ids_of<std::uint32_t>(content, count, id_of);
  }
  return text;
}

std::string utf8(char32_t character) {
  const auto byte = [](char32_t bits) {
    return static_cast<char>(static_cast<unsigned char>(bits));
  };
  const auto follower = [&](unsigned shift_bits, char32_t c) {
    return byte(0x80U | ((c >> shift_bits) & 0x3fU));
  };
  const char32_t c = character;
  if (c < 0x80) return {byte(c)};
  if (c < 0x800) return {byte(0xc0U | (c >> 6U)), follower(0, c)};
  if (c < 0x10000) return {byte(0xe0U | (c >> 12U)), follower(6, c), follower(0, c)};
  return {byte(0xf0U | (c >> 18U)), follower(12, c), follower(6, c), follower(0, c)};
}

}  // namespace perigee::kernels
