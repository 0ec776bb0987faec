// Valid files of every format, damaged in ten thousand seeded ways each: a reader refuses or reads,
// and what it reads is consistent. Under the sanitizers this is a search for memory errors.
#include "kernels/format/csv.hpp"
#include "kernels/format/gzip.hpp"
#include "kernels/format/idx.hpp"
#include "kernels/format/npy.hpp"
#include "kernels/format/safetensors.hpp"
#include "kernels/format/text.hpp"
#include "proto/base/random.hpp"
#include "tests/kernels/gzip_of.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>

BOOST_AUTO_TEST_SUITE(format_mutation)

using namespace perigee::kernels;
using perigee::random;

namespace {

constexpr std::uint64_t mutations = 10'000;

void mutate_once(std::string& file, random& draw) {
  constexpr std::string_view telling("\0\xff\x80\x7f\"{}[]:,-9. \n", 16);
  const auto place = [&] { return static_cast<std::size_t>(draw.below(file.size() + 1)); };
  const std::size_t at = place();
  const std::size_t length = 1 + draw.below(8);
  switch (draw.below(6)) {
    case 0:
      if (at < file.size()) file[at] = static_cast<char>(file[at] ^ (1 << draw.below(8)));
      return;
    case 1:
      if (at < file.size()) file[at] = telling[draw.below(telling.size())];
      return;
    case 2:
      file.insert(at, 1, telling[draw.below(telling.size())]);
      return;
    case 3:
      file.erase(at, length);
      return;
    case 4:
      file.insert(place(), file.substr(at, length));
      return;
    default:
      file.resize(at);
  }
}

/// Calls `read` with each mutation; returns how many it took, each of which must pass `read`'s own
/// checks.
template <class Read>
std::uint64_t taken_of(const std::string& valid, const Read& read) {
  std::uint64_t taken = 0;
  for (std::uint64_t seed = 0; seed < mutations; ++seed) {
    random draw(seed, perigee::purpose::simulation, 1);
    std::string file = valid;
    for (auto left = 1 + draw.below(3); left > 0; --left) mutate_once(file, draw);
    // A copy of just this size, so that a read beyond the end is seen.
    const std::vector<std::byte> exact(
        reinterpret_cast<const std::byte*>(file.data()),
        reinterpret_cast<const std::byte*>(file.data()) + file.size());
    if (read(std::span<const std::byte>(exact))) ++taken;
  }
  return taken;
}

std::string_view words_of(std::span<const std::byte> file) {
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}

std::uint64_t product(const std::vector<std::int64_t>& shape) {
  std::uint64_t count = 1;
  for (const auto size : shape) count *= static_cast<std::uint64_t>(size);
  return count;
}

}  // namespace

BOOST_AUTO_TEST_CASE(damaged_safetensors_are_refused_or_consistent) {
  const std::string header =
      R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
      R"("b":{"dtype":"U8","shape":[3],"data_offsets":[16,19]}} )";
  const std::string valid =
      static_cast<char>(header.size()) + std::string(7, '\0') + header + std::string(19, 'd');
  const auto taken = taken_of(valid, [&](std::span<const std::byte> file) {
    const auto read = parse_safetensors(file, "m");
    if (!read) return false;
    for (const auto& tensor : read->tensors) {
      BOOST_REQUIRE(tensor.data.size() == tensor_bytes(tensor.type, tensor.shape));
    }
    return true;
  });
  BOOST_TEST(taken > 0U);
  BOOST_TEST(taken < mutations / 2);
}

BOOST_AUTO_TEST_CASE(damaged_numpy_arrays_are_refused_or_consistent) {
  const std::string header = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }       \n";
  const std::string valid = std::string("\x93NUMPY\1\0\x42\0", 10) + header + std::string(24, 'd');
  BOOST_REQUIRE(header.size() == 0x42);
  const auto taken = taken_of(valid, [&](std::span<const std::byte> file) {
    const auto read = parse_npy(file, "m");
    if (!read) return false;
    BOOST_REQUIRE(read->data.size() == tensor_bytes(read->type, read->shape));
    return doubles_of(*read).size() <= read->data.size();
  });
  BOOST_TEST(taken > 0U);
  BOOST_TEST(taken < mutations * 3 / 4);
}

BOOST_AUTO_TEST_CASE(damaged_idx_arrays_are_refused_or_consistent) {
  const std::string valid =
      std::string("\0\0\x08\3\0\0\0\2\0\0\0\2\0\0\0\3", 16) + std::string(12, 'p');
  const auto taken = taken_of(valid, [&](std::span<const std::byte> file) {
    const auto read = parse_idx(file, "m");
    if (!read) return false;
    BOOST_REQUIRE(read->values.size() == product(read->shape));
    return true;
  });
  BOOST_TEST(taken > 0U);
  BOOST_TEST(taken < mutations * 3 / 4);
}

BOOST_AUTO_TEST_CASE(damaged_tables_are_refused_or_consistent) {
  const auto taken =
      taken_of("2,2,rose,lily\n1.5,-2,0\n3e1,4,1\n", [&](std::span<const std::byte> file) {
        const auto read = parse_csv(words_of(file), "m");
        if (!read) return false;
        BOOST_REQUIRE(read->values.size() ==
                      read->labels.size() * static_cast<std::size_t>(read->features));
        BOOST_REQUIRE(std::ranges::all_of(read->values, [](float v) { return std::isfinite(v); }));
        BOOST_REQUIRE(std::ranges::all_of(read->labels,
                                          [](std::int32_t l) { return 0 <= l && l <= label_max; }));
        return true;
      });
  BOOST_TEST(taken > 0U);
  BOOST_TEST(taken < mutations * 3 / 4);
}

BOOST_AUTO_TEST_CASE(damaged_gzip_files_are_refused_or_the_same) {
  std::string words;
  for (int i = 0; i < 50; ++i) words += "words " + std::to_string(i * i);
  const auto taken = taken_of(perigee::test::gzip_of(words), [&](std::span<const std::byte> file) {
    const auto read = unzipped(file, "m", 4 * words.size());
    if (!read) return false;
    BOOST_REQUIRE((words_of(*read) == words));  // only damage to the header's time passes
    return true;
  });
  BOOST_TEST(taken > 0U);
  BOOST_TEST(taken < mutations / 2);
}

BOOST_AUTO_TEST_CASE(damaged_text_is_refused_or_comes_back) {
  const auto taken = taken_of("naïve café, 3 € for π 𝄞𝄞", [&](std::span<const std::byte> file) {
    const auto read = encode_text(file, "m");
    if (!read) return false;
    std::string back;
    std::visit(
        [&](const auto& ids) {
          for (const auto id : ids) back += utf8(read->vocabulary.at(id));
        },
        read->tokens);
    BOOST_REQUIRE((back == words_of(file)));
    return true;
  });
  BOOST_TEST(taken > 0U);
  BOOST_TEST(taken < mutations);
}

BOOST_AUTO_TEST_SUITE_END()
