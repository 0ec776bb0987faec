#include "kernels/format/gzip.hpp"

#include "tests/kernels/gzip_of.hpp"
#include "tests/support/temporary_folder.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(gzip)

using namespace perigee::kernels;
using perigee::test::gzip_of;
using perigee::test::temporary_folder;

namespace {

std::string told(const perigee::result<std::vector<std::byte>>& content) {
  if (!content) return std::string(text(content.why().code)) + ": " + content.why().what;
  return {reinterpret_cast<const char*>(content->data()), content->size()};
}

std::string told(const std::string& file, std::uint64_t bytes_max = unzipped_bytes_max) {
  return told(unzipped(std::as_bytes(std::span(file)), "g", bytes_max));
}

}  // namespace

BOOST_AUTO_TEST_CASE(plain_and_zipped_files_read_alike) {
  const temporary_folder folder;
  BOOST_TEST(told(read_unzipped(folder.write("plain.gz", "words"))) == "words");
  BOOST_TEST(told(read_unzipped(folder.write("zipped", gzip_of("words")))) == "words");
  BOOST_TEST(told(read_unzipped(folder.write("empty", ""))) == "");
}

BOOST_AUTO_TEST_CASE(long_content_comes_back_whole) {
  std::string words;
  for (int i = 0; i < 200'000; ++i) words += std::to_string(i);
  BOOST_TEST((told(gzip_of(words)) == words));
}

BOOST_AUTO_TEST_CASE(members_one_after_the_other_are_one_file) {
  BOOST_TEST(told(gzip_of("one ") + gzip_of("") + gzip_of("two")) == "one two");
}

BOOST_AUTO_TEST_CASE(a_file_cut_anywhere_is_refused) {
  const std::string whole = gzip_of("some words and some words");
  for (std::size_t size = 2; size < whole.size(); ++size) {
    const std::string place = std::to_string(size);
    BOOST_TEST(told(whole.substr(0, size)) == "malformed: gzip g: cut off at byte " + place);
  }
}

BOOST_AUTO_TEST_CASE(damage_is_refused) {
  std::string file = gzip_of("some words and some words");
  file[file.size() - 6] ^= 1;  // in the checksum
  BOOST_TEST(told(file).substr(0, 35) == "malformed: gzip g: damaged at byte ");
  BOOST_TEST(told(std::string("\x1f\x8b\x07\0\0\0\0\0\0\0", 10)).substr(0, 34) ==
             "malformed: gzip g: damaged at byte");
}

BOOST_AUTO_TEST_CASE(what_follows_the_last_member_is_refused) {
  const std::string file = gzip_of("words");
  BOOST_TEST(told(file + "x") ==
             "malformed: gzip g: something else follows at byte " + std::to_string(file.size()));
}

BOOST_AUTO_TEST_CASE(what_unzips_beyond_the_limit_is_refused) {
  const std::string bomb = gzip_of(std::string(10'000'000, '0'));
  BOOST_TEST(told(bomb, 9'999'999) == "exhausted: read g: more than 9999999 bytes");
  BOOST_TEST(told(bomb, 10'000'000).size() == 10'000'000U);
}

BOOST_AUTO_TEST_CASE(a_plain_file_beyond_the_limit_is_refused) {
  const temporary_folder folder;
  const auto path = folder.write("plain", "12345");
  BOOST_TEST(told(read_unzipped(path, 4)) == "exhausted: read " + path + ": more than 4 bytes");
  BOOST_TEST(told(read_unzipped(path, 5)) == "12345");
}

BOOST_AUTO_TEST_CASE(an_absent_file_is_named) {
  BOOST_TEST(told(read_unzipped("no/such")) == "io: open no/such: No such file or directory");
}

BOOST_AUTO_TEST_SUITE_END()
