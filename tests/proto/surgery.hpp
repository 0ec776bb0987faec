// Frames changed word by word, as a newer or an older schema, or a liar, would have written them.
//
// Source  the Cap'n Proto encoding: a struct pointer has its offset in bits 2 to 31, its data words
//         in bits 32 to 47 and its pointers in bits 48 to 63.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace perigee::tests {

static_assert(std::endian::native == std::endian::little);

using frame_bytes = std::vector<std::byte>;
using frame_words = std::vector<std::uint64_t>;

inline frame_words words_of(std::span<const std::byte> frame) {
  frame_words words(frame.size() / 8);
  std::memcpy(words.data(), frame.data(), words.size() * 8);
  return words;
}

inline frame_bytes frame_of_words(const frame_words& words) {
  frame_bytes frame(words.size() * 8);
  std::memcpy(frame.data(), words.data(), frame.size());
  return frame;
}

/// A struct pointer.
constexpr std::uint64_t pointer(std::uint64_t offset, std::uint64_t data, std::uint64_t pointers) {
  return offset << 2U | data << 32U | pointers << 48U;
}

// In a frame of one segment word 0 is the segment table and word 1 the root pointer.
inline constexpr std::uint64_t one_segment_word = std::uint64_t{1} << 32U;
inline constexpr std::uint64_t one_data_word = pointer(0, 1, 0);
inline constexpr std::uint64_t one_pointer = pointer(0, 0, 1);

inline std::size_t data_count(const frame_words& w) { return w[1] >> 32U & 0xffffU; }
inline std::size_t pointer_count(const frame_words& w) { return w[1] >> 48U; }

/// Returns the words with one more before place `at`.
inline frame_words with_word(const frame_words& w, std::size_t at, std::uint64_t word) {
  const auto place = w.begin() + static_cast<std::ptrdiff_t>(std::min(at, w.size()));
  frame_words longer(w.begin(), place);
  longer.push_back(word);
  longer.insert(longer.end(), place, w.end());
  return longer;
}

/// Returns the frame with one more word of data in its root struct.
inline frame_bytes with_extra_word(std::span<const std::byte> frame) {
  auto w = words_of(frame);
  w = with_word(w, 2 + data_count(w), 0x1122334455667788U);
  w[0] += one_segment_word;
  w[1] += one_data_word;
  return frame_of_words(w);
}

/// Returns the frame without the last word of data of its root struct.
inline frame_bytes with_a_word_less(std::span<const std::byte> frame) {
  auto w = words_of(frame);
  w.erase(w.begin() + static_cast<std::ptrdiff_t>(1 + data_count(w)));
  w[0] -= one_segment_word;
  w[1] -= one_data_word;
  return frame_of_words(w);
}

/// Returns the frame with one more pointer, to nothing, in its root struct.
inline frame_bytes with_extra_pointer(std::span<const std::byte> frame) {
  auto w = words_of(frame);
  const std::size_t first = 2 + data_count(w);
  for (std::size_t i = first; i < first + pointer_count(w); ++i)
    if (w[i] != 0 && std::int32_t(w[i]) >> 2 >= 0) w[i] += pointer(1, 0, 0);
  w = with_word(w, first + pointer_count(w), 0);
  w[0] += one_segment_word;
  w[1] += one_pointer;
  return frame_of_words(w);
}

inline std::size_t first_difference(const frame_bytes& a, const frame_bytes& b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                                  a.begin());
}

/// Returns the bytes in order, in groups of four.
inline std::string hexadecimal(std::span<const std::byte> all) {
  std::string line;
  for (std::size_t i = 0; i < all.size(); ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", std::to_integer<unsigned>(all[i]));
    line += digits;
    if (i % 4 == 3) line += ' ';
  }
  return line;
}

}  // namespace perigee::tests
