#include "kernels/format/idx.hpp"

#include "kernels/format/gzip.hpp"

#include <boost/test/unit_test.hpp>

#include <array>

BOOST_AUTO_TEST_SUITE(idx)

using namespace perigee::kernels;

namespace {

std::string told(const perigee::result<idx_view>& array) {
  if (!array) return std::string(text(array.why().code)) + ": " + array.why().what;
  std::string words;
  for (const auto size : array->shape) words += std::to_string(size) + " ";
  return words + "@" + std::to_string(array->values.size());
}

std::string told(const std::string& file) {
  return told(parse_idx(std::as_bytes(std::span(file)), "i"));
}

/// Returns a file's first bytes: magic, and dimensions below 256.
std::string head(std::initializer_list<int> shape) {
  std::string file("\0\0\x08", 3);
  file += static_cast<char>(shape.size());
  for (const int size : shape) file += std::string(3, '\0') + static_cast<char>(size);
  return file;
}

}  // namespace

BOOST_AUTO_TEST_CASE(mnist_images_and_labels_are_read) {
  const auto images = read_unzipped("../shared/data/mnist/t10k-images-idx3-ubyte.gz");
  BOOST_TEST(told(parse_idx(*images, "images")) == "10000 28 28 @7840000");
  const auto file = read_unzipped("../shared/data/mnist/t10k-labels-idx1-ubyte.gz");
  const auto labels = parse_idx(*file, "labels");
  BOOST_TEST(told(labels) == "10000 @10000");
  std::array<int, 10> count{};
  for (const std::byte label : labels->values) ++count.at(std::to_integer<std::size_t>(label));
  std::string words;
  for (const int c : count) words += std::to_string(c) + " ";
  BOOST_TEST(words == "980 1135 1032 1010 982 892 958 1028 974 1009 ");
}

BOOST_AUTO_TEST_CASE(one_to_four_dimensions_are_read) {
  BOOST_TEST(told(head({3}) + "abc") == "3 @3");
  BOOST_TEST(told(head({2, 1, 1, 3}) + "abcdef") == "2 1 1 3 @6");
  BOOST_TEST(told(head({0, 28})) == "0 28 @0");
}

BOOST_AUTO_TEST_CASE(a_header_that_cannot_be_is_refused) {
  BOOST_TEST(told("abc") == "malformed: idx i: only 3 bytes");
  BOOST_TEST(told(std::string("\0\1\x08\1", 4)) == "malformed: idx i: wrong magic");
  BOOST_TEST(told("PNG\r") == "malformed: idx i: wrong magic");
  BOOST_TEST(told(std::string("\0\0\x0d\1", 4)) ==
             "unsupported: idx i: values of type 13, not 8 (u8)");
  BOOST_TEST(told(head({})) == "malformed: idx i: 0 dimensions; 1 to 4 are read");
  BOOST_TEST(told(head({1, 1, 1, 1, 1})) == "malformed: idx i: 5 dimensions; 1 to 4 are read");
  BOOST_TEST(told(head({1, 1}).substr(0, 11)) == "malformed: idx i: ends inside its header");
}

BOOST_AUTO_TEST_CASE(values_must_be_as_many_as_the_dimensions_say) {
  BOOST_TEST(told(head({2, 2}) + "abc") == "malformed: idx i: 3 values instead of 4");
  BOOST_TEST(told(head({2, 2}) + "abcde") == "malformed: idx i: 5 values instead of 4");
}

BOOST_AUTO_TEST_CASE(dimensions_that_overflow_are_refused) {
  const std::string file = std::string("\0\0\x08\3", 4) + std::string(12, '\xff');
  BOOST_TEST(told(file) == "malformed: idx i: dimensions overflow");
}

BOOST_AUTO_TEST_SUITE_END()
