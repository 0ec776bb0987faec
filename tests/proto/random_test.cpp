#include "proto/base/random.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <string>
#include <vector>

namespace perigee::tests {

namespace {

std::string hexadecimal(const philox_counter& words) {
  std::string line;
  for (const std::uint32_t word : words) {
    char digits[10];
    std::snprintf(digits, sizeof digits, "%08x ", word);
    line += digits;
  }
  line.pop_back();
  return line;
}

bool is_bijection(std::uint64_t size, std::uint64_t key) {
  std::vector<bool> hit(size);
  for (std::uint64_t i = 0; i < size; ++i) {
    const std::uint64_t to = permuted(i, size, key);
    if (to >= size || hit[to]) return false;
    hit[to] = true;
  }
  return true;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(random)

// The known answers of Random123 1.14, file kat_vectors.
BOOST_AUTO_TEST_CASE(philox_gives_the_published_answer_for_zeros) {
  BOOST_TEST(hexadecimal(philox4x32({0, 0, 0, 0}, {0, 0})) ==
             "6627e8d5 e169c58d bc57ac4c 9b00dbd8");
}

BOOST_AUTO_TEST_CASE(philox_gives_the_published_answer_for_ones) {
  constexpr std::uint32_t f = 0xffffffffU;
  BOOST_TEST(hexadecimal(philox4x32({f, f, f, f}, {f, f})) ==
             "408f276d 41c83b0e a20bc7c6 6d5451fd");
}

BOOST_AUTO_TEST_CASE(philox_gives_the_published_answer_for_the_digits_of_pi) {
  BOOST_TEST(hexadecimal(philox4x32({0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U},
                                    {0xa4093822U, 0x299f31d0U})) ==
             "d16cfe09 94fdcceb 5001e420 24126ea1");
}

BOOST_AUTO_TEST_CASE(a_stream_is_the_blocks_of_its_counter_in_order) {
  perigee::random stream(0x0000000200000001U, purpose::dropout, 0x0000000600000005U);
  for (const std::uint32_t block : {0U, 1U, 2U})
    for (const std::uint32_t word : philox4x32({block, 3, 5, 6}, {1, 2}))
      BOOST_TEST(stream.word() == word);
}

BOOST_AUTO_TEST_CASE(seed_purpose_and_stream_each_make_another_stream) {
  std::set<std::uint64_t> firsts;
  for (const std::uint64_t seed : {1ULL, 2ULL, 1ULL << 32U})
    for (const purpose what : {purpose::weights, purpose::data_order, purpose::simulation})
      for (const std::uint64_t stream : {0ULL, 1ULL, 1ULL << 32U})
        firsts.insert(perigee::random(seed, what, stream).word64());
  BOOST_TEST(firsts.size() == 27U);
}

BOOST_AUTO_TEST_CASE(numbers_below_a_bound_stay_below_it_and_reach_all_of_it) {
  perigee::random stream(7, purpose::simulation, 0);
  for (const std::uint64_t bound : {1U, 2U, 3U, 7U, 10U, 64U}) {
    std::vector<int> hits(bound);
    for (int i = 0; i < 6400; ++i) ++hits.at(stream.below(bound));
    // 6400 / bound hits each are expected; six standard deviations bound the spread.
    const double expected = 6400.0 / static_cast<double>(bound);
    for (const int count : hits) BOOST_TEST(std::abs(count - expected) <= 6 * std::sqrt(expected));
  }
}

BOOST_AUTO_TEST_CASE(a_bound_just_above_half_the_range_is_not_biased_to_its_lower_part) {
  // Without rejection the lower third of [0, 3/4 of 2^64) would be hit half of the time.
  perigee::random stream(8, purpose::simulation, 0);
  const std::uint64_t bound = 3ULL << 62U;
  int lower = 0;
  for (int i = 0; i < 9000; ++i) lower += stream.below(bound) < bound / 3 ? 1 : 0;
  BOOST_TEST(std::abs(lower - 3000) < 300);
}

BOOST_AUTO_TEST_CASE(uniform_numbers_lie_in_the_unit_interval_with_its_mean) {
  perigee::random stream(9, purpose::simulation, 0);
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const float drawn = stream.uniform();
    BOOST_REQUIRE(drawn >= 0.0F);
    BOOST_REQUIRE(drawn < 1.0F);
    sum += drawn;
  }
  BOOST_TEST(std::abs(sum / 100'000 - 0.5) < 0.005);
}

BOOST_AUTO_TEST_CASE(normal_deviates_have_the_moments_of_the_normal_distribution) {
  constexpr int count = 400'000;
  perigee::random stream(10, purpose::weights, 0);
  double sum = 0;
  double squares = 0;
  double fourths = 0;
  for (int i = 0; i < count; ++i) {
    const double z = stream.normal();
    sum += z;
    squares += z * z;
    fourths += z * z * z * z;
  }
  BOOST_TEST(std::abs(sum / count) < 0.01);
  BOOST_TEST(std::abs(squares / count - 1) < 0.015);
  BOOST_TEST(std::abs(fourths / count - 3) < 0.1);
}

BOOST_AUTO_TEST_CASE(normal_deviates_are_those_of_box_and_muller_rounded_once) {
  perigee::random stream(11, purpose::weights, 0);
  perigee::random words(11, purpose::weights, 0);
  for (int i = 0; i < 100'000; ++i) {
    const double radius = std::sqrt(-2 * std::log((words.word() + 1.0) / 4294967296.0));
    const double turn = words.word() / 4294967296.0;
    // cos near its zeros loses relative precision in this reference's argument: hence the floor.
    const double z = radius * std::cos(2 * 3.14159265358979323846 * turn);
    BOOST_REQUIRE(std::abs(stream.normal() - z) <= std::abs(z) * 6.0e-8 + 1e-14);
  }
}

BOOST_AUTO_TEST_CASE(the_bits_of_normal_deviates_are_pinned) {
  perigee::random stream(1, purpose::weights, 0);
  std::string bits;
  for (int i = 0; i < 8; ++i) {
    char digits[10];
    std::snprintf(digits, sizeof digits, "%08x ", std::bit_cast<std::uint32_t>(stream.normal()));
    bits += digits;
  }
  BOOST_TEST(bits == "3f44c53d 3ff5760d bd84d644 3fb72bb7 3e7ada7a bf52167d 3edfcb8e 3f1ae1c4 ");
}

BOOST_AUTO_TEST_CASE(a_permutation_takes_each_place_once) {
  for (std::uint64_t size = 1; size <= 300; ++size)
    for (const std::uint64_t key : {0ULL, 1ULL, 0xdeadbeefULL})
      BOOST_REQUIRE_MESSAGE(is_bijection(size, key), "size " << size << " key " << key);
  for (const std::uint64_t size : {1000U, 1023U, 1024U, 1025U, 4096U, 65'537U, 100'003U})
    for (std::uint64_t key = 0; key < 4; ++key)
      BOOST_TEST(is_bijection(size, key), "size " << size << " key " << key);
}

BOOST_AUTO_TEST_CASE(a_permutation_of_the_largest_sizes_stays_inside) {
  for (const std::uint64_t size : {1ULL << 40U, (1ULL << 62U) + 1, ~0ULL})
    for (std::uint64_t i = 0; i < 100; ++i) {
      BOOST_TEST(permuted(i, size, 5) < size);
      BOOST_TEST(permuted(size - 1 - i, size, 5) < size);
    }
}

BOOST_AUTO_TEST_CASE(each_key_gives_another_permutation_and_leaves_little_in_place) {
  std::set<std::vector<std::uint64_t>> all;
  for (std::uint64_t key = 0; key < 50; ++key) {
    std::vector<std::uint64_t> order;
    for (std::uint64_t i = 0; i < 1000; ++i) order.push_back(permuted(i, 1000, key));
    std::uint64_t fixed = 0;
    for (std::uint64_t i = 0; i < 1000; ++i) fixed += order[i] == i ? 1U : 0U;
    BOOST_TEST(fixed < 10U);  // one is expected
    all.insert(std::move(order));
  }
  BOOST_TEST(all.size() == 50U);
}

BOOST_AUTO_TEST_CASE(a_place_is_taken_about_equally_often_under_many_keys) {
  std::vector<int> hits(10);
  for (std::uint64_t key = 0; key < 10'000; ++key) ++hits[permuted(3, 10, key)];
  for (const int count : hits) BOOST_TEST(std::abs(count - 1000) < 180);  // six deviations
}

BOOST_AUTO_TEST_CASE(the_data_order_is_pinned) {
  std::string order;
  for (std::uint64_t i = 0; i < 12; ++i) order += std::to_string(permuted(i, 12, 1)) + ' ';
  BOOST_TEST(order == "4 8 10 2 6 0 11 9 1 7 3 5 ");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::tests
