#include "kernels/format/text.hpp"

#include "kernels/format/gzip.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(text)

using namespace perigee::kernels;

namespace {

perigee::result<encoded_text> encoded(const std::string& content) {
  return encode_text(std::as_bytes(std::span(content)), "t");
}

/// Returns the vocabulary, then the first 12 ids, or the error.
std::string told(const perigee::result<encoded_text>& text) {
  if (!text) return std::string(perigee::text(text.why().code)) + ": " + text.why().what;
  std::string words;
  for (const char32_t c : text->vocabulary) words += utf8(c);
  std::visit(
      [&](const auto& ids) {
        for (std::size_t i = 0; i < ids.size() && i < 12; ++i)
          words += " " + std::to_string(ids[i]);
      },
      text->tokens);
  return words;
}

}  // namespace

BOOST_AUTO_TEST_CASE(ids_follow_the_order_of_characters) {
  BOOST_TEST(told(encoded("hello")) == "ehlo 1 0 2 2 3");
  BOOST_TEST(told(encoded("")) == "");
}

BOOST_AUTO_TEST_CASE(a_character_of_several_bytes_is_one_token) {
  BOOST_TEST(told(encoded("a€bπ𝄞a")) == "abπ€𝄞 0 3 1 2 4 0");
}

BOOST_AUTO_TEST_CASE(tiny_shakespeare_has_65_characters) {
  const auto file = read_unzipped("../shared/data/text/tinyshakespeare.txt");
  const auto text = encode_text(*file, "tiny");
  BOOST_TEST(text->vocabulary.size() == 65U);
  BOOST_TEST(std::get<0>(text->tokens).size() == 1'115'394U);
  BOOST_TEST(told(text) ==  // "First Citize"; the ids are nanoGPT's
             "\n !$&',-.3:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
             " 18 47 56 57 58 1 15 47 58 47 64 43");
}

BOOST_AUTO_TEST_CASE(wide_vocabularies_get_wide_tokens) {
  const auto of_size = [](char32_t count) {
    std::string content;
    for (char32_t c = 0x10000; c < 0x10000 + count; ++c) content += utf8(c);
    return encoded(content)->tokens;
  };
  BOOST_TEST(of_size(256).index() == 0U);
  BOOST_TEST(of_size(257).index() == 1U);
  BOOST_TEST(std::get<1>(of_size(65'536)).back() == 65'535);
  BOOST_TEST(std::get<2>(of_size(65'537)).back() == 65'536U);
}

BOOST_AUTO_TEST_CASE(what_is_no_utf8_is_refused_with_its_place) {
  const auto refused = [](const std::string& tail) {
    BOOST_TEST(told(encoded("ab" + tail)) == "malformed: text t: no UTF-8 at byte 2");
  };
  refused("\xff");
  refused("\x80");              // a follower without a lead
  refused("\xc3");              // cut off
  refused("\xe2\x82");          // cut off
  refused("\xc3(");             // no follower
  refused("\xc0\xaf");          // a slash in two bytes
  refused("\xe0\x80\xaf");      // in three
  refused("\xf0\x80\x80\xaf");  // in four
  refused("\xed\xa0\x80");      // half of a surrogate pair
  refused("\xf4\x90\x80\x80");  // beyond Unicode
  refused("\xf8\x88\x80\x80\x80");
}

BOOST_AUTO_TEST_CASE(the_edges_of_each_width_come_back) {
  for (const char32_t c :
       {0x0, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff}) {
    BOOST_TEST(encoded(utf8(c))->vocabulary == std::vector<char32_t>{c});
  }
}

BOOST_AUTO_TEST_SUITE_END()
