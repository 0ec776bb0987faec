#include "actors/cli/toml_scan.hpp"

#include <algorithm>

namespace perigee::actors {

namespace {

constexpr auto npos = std::string_view::npos;

bool is_beyond_ascii(char letter) { return static_cast<unsigned char>(letter) >= 0x80; }
bool continues_letter(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80; }

toml_place place_at(std::string_view toml, std::size_t at) {
  const auto before = toml.substr(0, at);
  const auto line_begin = before.rfind('\n') == npos ? 0 : before.rfind('\n') + 1;
  const auto line = before.substr(line_begin);
  const auto letters = line.size() - static_cast<std::size_t>(
                                         std::count_if(line.begin(), line.end(), continues_letter));
  return {static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n')) + 1,
          static_cast<std::uint32_t>(letters) + 1};
}

/// Returns where the text that begins at `at` with a quote ends (behind its last quote), or npos.
std::size_t end_of_text(std::string_view toml, std::size_t at) {
  const char quote = toml[at];
  const bool escapes = quote == '"';
  const bool many_lines = toml.size() >= at + 3 && toml[at + 1] == quote && toml[at + 2] == quote;
  const std::size_t quotes = many_lines ? 3 : 1;
  std::size_t run = 0;  // quotes just read
  for (std::size_t i = at + quotes; i < toml.size(); ++i) {
    run = toml[i] == quote ? run + 1 : 0;
    // A text of many lines may itself end in up to two quotes.
    const bool goes_on = many_lines && run < 5 && i + 1 < toml.size() && toml[i + 1] == quote;
    if (run >= quotes && !goes_on) return i + 1;
    if (toml[i] == '\n' && !many_lines) return npos;
    if (toml[i] == '\\' && escapes) ++i;
  }
  return npos;
}

}  // namespace

std::optional<toml_place> stray_letter(std::string_view toml) {
  std::size_t at = toml.starts_with("\xef\xbb\xbf") ? 3 : 0;  // a byte-order mark
  while (at < toml.size()) {
    const char letter = toml[at];
    if (is_beyond_ascii(letter)) return place_at(toml, at);
    if (letter == '#')
      at = toml.find('\n', at);
    else if (letter == '"' || letter == '\'')
      at = end_of_text(toml, at);
    else
      ++at;
  }
  return {};
}

}  // namespace perigee::actors
