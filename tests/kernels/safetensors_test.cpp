#include "kernels/format/safetensors.hpp"

#include "tests/support/temporary_folder.hpp"

#include <boost/test/unit_test.hpp>

#include <cstring>

BOOST_AUTO_TEST_SUITE(safetensors)

using namespace perigee::kernels;
using perigee::errc;
using perigee::test::content_of;
using perigee::test::temporary_folder;

namespace {

const std::string reference_file = "../shared/data/models/multi_layer.safetensors";

/// Returns a file with this header and so many bytes of data.
std::string file_of(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  return file + header + std::string(data_bytes, '\1');
}

perigee::result<tensor_file> parsed(const std::string& file) {
  return parse_safetensors(std::as_bytes(std::span(file)), "w");
}

/// Returns `dtype shape @bytes` of each tensor, or the error.
std::string told(const perigee::result<tensor_file>& file) {
  if (!file) return std::string(text(file.why().code)) + ": " + file.why().what;
  std::string words;
  for (const auto& t : file->tensors) {
    words += t.name + " " + std::string(text(t.type));
    for (const auto size : t.shape) words += " " + std::to_string(size);
    words += " @" + std::to_string(t.data.size()) + "\n";
  }
  for (const auto& [key, value] : file->metadata) words += key + "=" + value + "\n";
  return words;
}

std::string told(const std::string& header, std::size_t data_bytes) {
  return told(parsed(file_of(header, data_bytes)));
}

named_tensor tensor(std::string name, dtype type, std::vector<std::int64_t> shape) {
  const auto size = tensor_bytes(type, shape);
  return {std::move(name), type, std::move(shape), std::vector<std::byte>(*size, std::byte{7})};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_file_of_the_reference_library_is_read) {
  const auto file = read_safetensors(reference_file);
  BOOST_TEST(told(file) ==
             "norm1.num_batches_tracked I64 @8\n"
             "conv1.bias F32 4 @16\n"
             "conv1.weight F32 4 3 3 3 @432\n"
             "fc1.bias F32 16 @64\n"
             "fc1.weight F32 16 256 @16384\n"
             "norm1.bias F32 4 @16\n"
             "norm1.running_mean F32 4 @16\n"
             "norm1.running_var F32 4 @16\n"
             "norm1.weight F32 4 @16\n");
  float ones[4] = {};
  std::memcpy(ones, file->find("norm1.weight")->data.data(), sizeof ones);
  BOOST_TEST(ones[3] == 1.0F);
  BOOST_TEST(file->find("absent") == nullptr);
}

BOOST_AUTO_TEST_CASE(a_file_of_the_reference_library_is_rewritten_byte_for_byte) {
  const temporary_folder folder;
  auto file = read_safetensors(reference_file);
  std::swap(file->tensors.front(), file->tensors.back());
  BOOST_TEST(bool(write_safetensors(folder.file("w"), *file)));
  BOOST_TEST((content_of(folder.file("w")) == content_of(reference_file)));
}

BOOST_AUTO_TEST_CASE(what_is_written_is_read_back) {
  const temporary_folder folder;
  const tensor_file file{{tensor("b", dtype::f64, {2}), tensor("a", dtype::bf16, {3, 0}),
                          tensor("\"π\"\n", dtype::u8, {3}), tensor("n", dtype::boolean, {})},
                         {{"step", "12"}, {"who", "p1 \\ p2"}}};
  BOOST_TEST(bool(write_safetensors(folder.file("w"), file)));
  const auto back = read_safetensors(folder.file("w"));
  BOOST_TEST(told(back) ==
             "b F64 2 @16\na BF16 3 0 @0\n\"π\"\n U8 3 @3\nn BOOL @1\nstep=12\nwho=p1 \\ p2\n");
  BOOST_TEST((*back->find("b") == file.tensors[0]));
}

BOOST_AUTO_TEST_CASE(a_written_file_is_one_line_of_json_and_aligned_data) {
  const temporary_folder folder;
  const tensor_file file{{tensor("a", dtype::u8, {2})}, {{"k", "v"}}};
  BOOST_TEST(bool(write_safetensors(folder.file("w"), file)));
  BOOST_TEST(
      content_of(folder.file("w")) ==
      std::string("\x50\0\0\0\0\0\0\0", 8) +
          R"({"__metadata__":{"k":"v"},"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})" +
          "  \7\7");
}

BOOST_AUTO_TEST_CASE(a_file_without_tensors_is_a_file) {
  BOOST_TEST(told("{}", 0) == "");
  BOOST_TEST(told(R"({"__metadata__":{"k":"v"}}   )", 0) == "k=v\n");
}

BOOST_AUTO_TEST_CASE(header_order_need_not_be_data_order) {
  BOOST_TEST(told(R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},)"
                  R"("a":{"data_offsets":[0,2],"shape":[],"dtype":"F16"}})",
                  3) == "a F16 @2\nb U8 1 @1\n");
}

BOOST_AUTO_TEST_CASE(lengths_that_cannot_be_are_refused) {
  BOOST_TEST(told(parsed("1234567")) == "malformed: safetensors w: only 7 bytes");
  BOOST_TEST(told(parsed(std::string("\x03\0\0\0\0\0\0\0{}", 10))) ==
             "malformed: safetensors w: a header of 3 bytes in a file of 10");
  BOOST_TEST(
      told(parsed(std::string("\x01\xe1\xf5\x05\0\0\0\0{}", 10))) ==
      "malformed: safetensors w: a header of 100000001 bytes; at most 100000000 are allowed");
  BOOST_TEST(told(parsed("\xff\xff\xff\xff\xff\xff\xff\xff{}")) ==
             "malformed: safetensors w: a header of 18446744073709551615 bytes; at most 100000000 "
             "are allowed");
}

BOOST_AUTO_TEST_CASE(a_header_that_is_no_json_object_is_refused) {
  BOOST_TEST(told("", 0) == "malformed: safetensors w: the header is no JSON object");
  BOOST_TEST(told("[1]", 0) == "malformed: safetensors w: the header is no JSON object");
  BOOST_TEST(told(" {}", 0) == "malformed: safetensors w: the header is no JSON object");
  BOOST_TEST(told("{\"a\"", 0) ==
             "malformed: safetensors w: no valid JSON at byte 5 of the header");
  BOOST_TEST(told("{} {}", 0) == "malformed: safetensors w: no valid JSON at byte 4 of the header");
  BOOST_TEST(told("{\"\xff\":{}}", 0) ==
             "malformed: safetensors w: no valid JSON at byte 3 of the header");
  BOOST_TEST(told(std::string("{}\0x", 4), 0) ==
             "malformed: safetensors w: zero byte at 2 of the header");
}

BOOST_AUTO_TEST_CASE(values_of_the_wrong_type_are_refused) {
  const auto refused = [](const std::string& member, const std::string& reason) {
    BOOST_TEST(told("{\"a\":" + member + "}", 0) == "malformed: safetensors w: " + reason);
  };
  refused("5", "tensor a: a number is not expected here");
  refused("null", "tensor a: null is not expected here");
  refused("[]", "tensor a: a list is not expected here");
  refused(R"({"dtype":true})", "tensor a: dtype: a truth value is not expected here");
  refused(R"({"dtype":[]})", "tensor a: dtype: a list is not expected here");
  refused(R"({"shape":"x"})", "tensor a: shape: a string is not expected here");
  refused(R"({"shape":{}})", "tensor a: shape: an object is not expected here");
  refused(R"({"shape":[[1]]})", "tensor a: shape: a list is not expected here");
  refused(R"({"shape":["1"]})", "tensor a: shape: a string is not expected here");
  refused(R"({"data_offsets":[1.5,2]})",
          "tensor a: data_offsets: 1.5 is no whole number of 63 bits");
  refused(R"({"data_offsets":[0]})", "tensor a: data_offsets: 1 numbers instead of 2");
  refused(R"({"data_offsets":[0,1,2]})", "tensor a: data_offsets: 3 numbers instead of 2");
  refused(R"({"size":1})", "tensor a: unknown key size");
}

BOOST_AUTO_TEST_CASE(a_missing_field_is_named) {
  BOOST_TEST(told(R"({"a":{"shape":[],"data_offsets":[0,1]}})", 1) ==
             "malformed: safetensors w: tensor a: no dtype");
  BOOST_TEST(told(R"({"a":{"dtype":"U8","data_offsets":[0,1]}})", 1) ==
             "malformed: safetensors w: tensor a: no shape");
  BOOST_TEST(told(R"({"a":{"dtype":"U8","shape":[]}})", 1) ==
             "malformed: safetensors w: tensor a: no data_offsets");
}

BOOST_AUTO_TEST_CASE(an_unknown_element_type_is_named) {
  BOOST_TEST(told(R"({"a":{"dtype":"F7","shape":[],"data_offsets":[0,1]}})", 1) ==
             "unsupported: safetensors w: tensor a: dtype: unknown element type F7");
}

BOOST_AUTO_TEST_CASE(impossible_shapes_are_refused) {
  const auto shaped = [](const std::string& shape) {
    return told(R"({"a":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":[0,4]}})", 4);
  };
  BOOST_TEST(shaped("[-1]") == "malformed: safetensors w: tensor a: shape: negative number -1");
  BOOST_TEST(shaped("[4611686018427387904]") ==
             "malformed: safetensors w: tensor a: shape overflows");
  BOOST_TEST(shaped("[4294967296,4294967296]") ==
             "malformed: safetensors w: tensor a: shape overflows");
  BOOST_TEST(shaped("[9223372036854775808]") ==
             "malformed: safetensors w: tensor a: shape: 9223372036854775808 is no whole number of "
             "63 bits");
  BOOST_TEST(shaped("[99999999999999999999]") ==
             "malformed: safetensors w: tensor a: shape: 99999999999999999999 is no whole number "
             "of 63 bits");
  BOOST_TEST(shaped("[2]") ==
             "malformed: safetensors w: tensor a: data_offsets [0,4] are 4 bytes, the shape needs "
             "8");
}

BOOST_AUTO_TEST_CASE(data_must_be_covered_once_and_whole) {
  const auto placed = [](const std::string& first, const std::string& second) {
    return told(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)" + first +
                    R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)" + second + "}}",
                4);
  };
  BOOST_TEST(placed("[0,2]", "[2,4]") == "a U8 2 @2\nb U8 2 @2\n");
  BOOST_TEST(placed("[0,2]", "[4,2]") ==
             "malformed: safetensors w: tensor b: data_offsets [4,2] end before they begin");
  BOOST_TEST(placed("[0,2]", "[1,3]") ==
             "malformed: safetensors w: tensor b: overlaps the tensor before it");
  BOOST_TEST(placed("[0,2]", "[0,2]") ==
             "malformed: safetensors w: tensor b: overlaps the tensor before it");
  BOOST_TEST(placed("[1,3]", "[3,5]") ==
             "malformed: safetensors w: tensor a: a hole of 1 bytes before it");
  BOOST_TEST(placed("[0,2]", "[3,5]") ==
             "malformed: safetensors w: tensor b: a hole of 1 bytes before it");
  BOOST_TEST(told(R"({"a":{"dtype":"U8","shape":[5],"data_offsets":[0,5]}})", 4) ==
             "malformed: safetensors w: tensor a: ends at 5 of 4 bytes of data");
  BOOST_TEST(told(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", 4) ==
             "malformed: safetensors w: 2 bytes after the last tensor");
}

BOOST_AUTO_TEST_CASE(duplicate_keys_are_refused) {
  const std::string a = R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  BOOST_TEST(told("{" + a + "," + a + "}", 0) == "malformed: safetensors w: duplicate key a");
  BOOST_TEST(told(R"({"a":{"dtype":"U8","dtype":"U8"}})", 0) ==
             "malformed: safetensors w: tensor a: duplicate key dtype");
  BOOST_TEST(told(R"({"__metadata__":{"k":"v","k":"v"}})", 0) ==
             "malformed: safetensors w: metadata: duplicate key k");
  BOOST_TEST(told(R"({"__metadata__":{},"__metadata__":{}})", 0) ==
             "malformed: safetensors w: duplicate key __metadata__");
}

BOOST_AUTO_TEST_CASE(metadata_are_strings_only) {
  BOOST_TEST(told(R"({"__metadata__":{"k":1}})", 0) ==
             "malformed: safetensors w: metadata: k: a number is not expected here");
  BOOST_TEST(told(R"({"__metadata__":{"k":{}}})", 0) ==
             "malformed: safetensors w: metadata: k: an object is not expected here");
  BOOST_TEST(told(R"({"__metadata__":[]})", 0) ==
             "malformed: safetensors w: metadata: a list is not expected here");
}

BOOST_AUTO_TEST_CASE(nested_bombs_end_at_their_third_level) {
  std::string objects = "{";
  for (int i = 0; i < 1'000'000; ++i) objects += "\"a\":{";
  BOOST_TEST(told(objects, 0) == "malformed: safetensors w: tensor a: unknown key a");
  BOOST_TEST(told("{\"a\":{\"shape\":" + std::string(1'000'000, '['), 0) ==
             "malformed: safetensors w: tensor a: shape: a list is not expected here");
}

BOOST_AUTO_TEST_CASE(names_in_errors_are_one_short_line) {
  BOOST_TEST(told("{\"a\\n" + std::string(100, 'b') + "\":1}", 0) ==
             "malformed: safetensors w: tensor a?" + std::string(78, 'b') +
                 "...: a number is not expected here");
}

BOOST_AUTO_TEST_CASE(what_no_reader_would_take_is_not_written) {
  const temporary_folder folder;
  const auto refused = [&](const tensor_file& file) {
    const auto done = write_safetensors(folder.file("w"), file);
    BOOST_REQUIRE(!done);
    BOOST_TEST(!std::filesystem::exists(folder.file("w")));
    return done.why().what.substr(done.why().what.rfind("w: ") + 3);
  };
  auto short_of = tensor("a", dtype::f32, {2});
  short_of.data.pop_back();
  BOOST_TEST(refused({{short_of}, {}}) == "tensor a: 7 bytes do not fit its shape");
  const auto a = tensor("a", dtype::u8, {1});
  BOOST_TEST(refused({{a, tensor("a", dtype::f32, {1})}, {}}) == "tensor a is there twice");
  BOOST_TEST(refused({{tensor("__metadata__", dtype::u8, {1})}, {}}) ==
             "a tensor may not be called __metadata__");
  BOOST_TEST(refused({{tensor("\xff", dtype::u8, {1})}, {}}) == "name \xff is no UTF-8");
  BOOST_TEST(refused({{a}, {{"\xff", "v"}}}) == "name \xff is no UTF-8");
  BOOST_TEST(refused({{a}, {{"k", "\xff"}}}) == "name \xff is no UTF-8");
  BOOST_TEST(refused({{a}, {{"k", std::string(header_bytes_max, 'v')}}}) ==
             "a header of 100000080 bytes");
}

BOOST_AUTO_TEST_CASE(a_failed_write_leaves_the_old_file_and_nothing_beside_it) {
  const temporary_folder folder;
  const tensor_file file{{tensor("a", dtype::u8, {1})}, {}};
  const auto absent = write_safetensors(folder.file("no/w"), file);
  BOOST_TEST(absent.why().what ==
             "create " + folder.file("no/w") + ".partial: No such file or directory");
  std::filesystem::create_directories(folder.file("w/full"));
  const auto taken = write_safetensors(folder.file("w"), file);
  BOOST_TEST((taken.why().code == errc::io));
  BOOST_TEST(!std::filesystem::exists(folder.file("w.partial")));
  std::filesystem::create_directories(folder.file("v.partial"));
  BOOST_TEST(!write_safetensors(folder.file("v"), file));
}

BOOST_AUTO_TEST_CASE(files_that_cannot_be_read_are_named) {
  const temporary_folder folder;
  BOOST_TEST(told(read_safetensors(folder.file("w"))) ==
             "io: open " + folder.file("w") + ": No such file or directory");
  BOOST_TEST(told(read_safetensors(folder.file("."))) ==
             "io: open " + folder.file(".") + ": not a regular file");
  const auto path = folder.write("short", "123");
  BOOST_TEST(told(read_safetensors(path)) == "malformed: safetensors " + path + ": only 3 bytes");
}

BOOST_AUTO_TEST_SUITE_END()
