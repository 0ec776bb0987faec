#include "actors/cli/toml_scan.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace perigee::actors::tests {

namespace {

/// Returns `line:column` of the first stray letter, or `none`.
std::string stray(std::string_view toml) {
  const auto place = stray_letter(toml);
  return place ? std::to_string(place->line) + ':' + std::to_string(place->column) : "none";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(toml_scan)

BOOST_AUTO_TEST_CASE(plain_text_has_none) {
  BOOST_TEST(stray("") == "none");
  BOOST_TEST(stray("a = 1\n[b]\nc = \"d\"\n") == "none");
}

BOOST_AUTO_TEST_CASE(a_stray_letter_is_found_by_line_and_column) {
  BOOST_TEST(stray("\u00e9 = 1\n") == "1:1");
  BOOST_TEST(stray("a = 1\nb = \u201cx\u201d\n") == "2:5");
  BOOST_TEST(stray("a = \"\u00e9\u00e9\" \u00e9\n") == "1:10");  // columns are letters, not bytes
}

BOOST_AUTO_TEST_CASE(letters_in_comments_and_texts_are_not_stray) {
  BOOST_TEST(stray("# \u00e9\na = 1 # \u00e9") == "none");
  BOOST_TEST(stray("a = \"\u00e9\"\nb = '\u00e9'\n") == "none");
  BOOST_TEST(stray("a = \"\"\"\u00e9\n\"\u00e9\"\n\"\"\"\nb = '''\u00e9\n'\u00e9'''\n") == "none");
}

BOOST_AUTO_TEST_CASE(a_comment_ends_with_its_line) {
  BOOST_TEST(stray("# \u00e9\n\u00e9\n") == "2:1");
}

BOOST_AUTO_TEST_CASE(a_text_ends_where_its_quotes_do) {
  BOOST_TEST(stray("a = \"b\" \u00e9\n") == "1:9");
  BOOST_TEST(stray("a = \"\" \u00e9\n") == "1:8");
  BOOST_TEST(stray("a = \"\\\"\u00e9\" \u00e9\n") == "1:11");  // an escaped quote does not end it
  BOOST_TEST(stray("a = '\\' \u00e9\n") == "1:9");             // nothing escapes in single quotes
  BOOST_TEST(stray("a = \"\"\"b\"\"\"\"\" \u00e9\n") ==
             "1:15");  // two quotes of its own at the end
  BOOST_TEST(stray("a = \"\"\"\"\"\" \u00e9\n") == "1:12");
}

BOOST_AUTO_TEST_CASE(nothing_is_looked_at_behind_a_text_that_does_not_end) {
  BOOST_TEST(stray("a = \"b\n\u00e9\n") == "none");
  BOOST_TEST(stray("a = '''b\n\u00e9\n") == "none");
}

BOOST_AUTO_TEST_CASE(a_byte_order_mark_is_not_stray) {
  BOOST_TEST(stray("\xef\xbb\xbf"
                   "a = 1\n") == "none");
  BOOST_TEST(stray("a = 1\n\xef\xbb\xbf"
                   "b = 1\n") == "2:1");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::actors::tests
