#include "tests/net/child_peer.hpp"

#include <boost/test/unit_test.hpp>

namespace perigee::net::tests {

BOOST_AUTO_TEST_SUITE(frozen)

BOOST_AUTO_TEST_CASE(a_frozen_receiver_costs_the_sender_no_memory_and_goes_on_when_thawed) {
  child_peer other;
  const auto data = pattern(4'000'000, 1);
  test_threads threads;
  witness at;
  const auto net = opened({.self = p1, .neighbours = {{p2, other.address()}}}, at, threads);
  BOOST_REQUIRE(at.wait([&] { return at.linked.contains(p2); }));
  other.freeze();
  const auto grown = growth_while_frozen(*net, data, 100);
  BOOST_TEST(grown.count < limits::window_max);
  BOOST_TEST(net->figures(p2).queued.count >= 100 * data.size() - limits::window_max);
  BOOST_TEST(at.transmitted.size() <= 2U);
  other.thaw();
  BOOST_REQUIRE(at.wait([&] { return at.transmitted.size() == 100; }));
  BOOST_TEST(at.transmitted.back().delivered);
  BOOST_TEST(net->figures(p2).queued.count == 0U);
}

BOOST_AUTO_TEST_CASE(a_receiver_that_dies_frozen_gives_everything_back) {
  child_peer other;
  const auto data = pattern(4'000'000, 1);
  test_threads threads;
  witness at;
  const auto net = opened({.self = p1, .neighbours = {{p2, other.address()}}}, at, threads);
  BOOST_REQUIRE(at.wait([&] { return at.linked.contains(p2); }));
  other.freeze();
  for (std::uint32_t i = 0; i < 20; ++i) {
    BOOST_REQUIRE(net->transmit(p2, label_of(i, data.size()), data));
  }
  other.kill();
  BOOST_REQUIRE(at.wait([&] { return at.lines().size() == 2; }));
  BOOST_TEST(at.transmitted.size() == 20U);
  BOOST_TEST(!at.transmitted.back().delivered);
  const auto why = at.lines()[1];
  BOOST_TEST(
      (why == "unlinked p2: connection reset by peer" || why == "unlinked p2: closed by peer"),
      why);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::net::tests
