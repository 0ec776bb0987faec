#include "kernels/data/sampler.hpp"

#include <boost/test/unit_test.hpp>

#include <set>
#include <string>

BOOST_AUTO_TEST_SUITE(sampler)

using perigee::kernels::sample_of;

namespace {

std::string order(std::uint64_t seed, std::uint64_t begin, std::uint64_t end, std::uint64_t count) {
  std::string words;
  for (auto i = begin; i < end; ++i) words += std::to_string(sample_of(seed, i, count)) + " ";
  return words;
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_pass_takes_each_sample_once) {
  for (const std::uint64_t count : {1, 2, 3, 10, 64, 65, 1437}) {
    for (std::uint64_t pass = 0; pass < 3; ++pass) {
      std::set<std::uint64_t> seen;
      for (std::uint64_t i = 0; i < count; ++i) seen.insert(sample_of(7, pass * count + i, count));
      BOOST_TEST(seen.size() == count);
      BOOST_TEST(*seen.rbegin() == count - 1);
    }
  }
}

BOOST_AUTO_TEST_CASE(passes_and_seeds_have_orders_of_their_own) {
  BOOST_TEST(order(1, 0, 50, 50) != order(1, 50, 100, 50));
  BOOST_TEST(order(1, 0, 50, 50) != order(2, 0, 50, 50));
  BOOST_TEST(order(1, 0, 50, 50) == order(1, 0, 50, 50));
}

BOOST_AUTO_TEST_CASE(the_order_is_the_same_on_every_machine) {
  BOOST_TEST(order(1, 0, 10, 10) == "1 4 6 8 2 0 3 9 7 5 ");
  BOOST_TEST(order(1, 10, 20, 10) == "3 2 9 1 6 8 5 7 4 0 ");
  BOOST_TEST(order(42, 60'000'000, 60'000'006, 60'000) == "54515 26916 50166 30594 28561 52606 ");
}

BOOST_AUTO_TEST_CASE(a_far_position_costs_no_more_than_a_near_one) {
  BOOST_TEST(sample_of(1, ~std::uint64_t{0}, 1'003'790) < 1'003'790U);
}

BOOST_AUTO_TEST_SUITE_END()
