#include "planner/plan/fleet.hpp"

#include <boost/test/unit_test.hpp>

namespace perigee::planner::fleet_tests {

namespace {

peer_record peer(std::uint64_t id) {
  peer_record record;
  record.peer = {id};
  return record;
}

constexpr link_estimate slow{duration{5}, 10};
constexpr link_estimate radio{duration{7}, 20};

fleet four() {
  return fleet({.peers = {peer(4), peer(2), peer(9), peer(1)},
                .usual = {},
                .shared = {{{{2}, {4}, {9}}, radio}},
                .pairs = {{{2}, {9}, slow}}});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(fleet)

BOOST_AUTO_TEST_CASE(peers_stand_in_id_order) {
  BOOST_TEST(four().position_of({1}) == 0U);
  BOOST_TEST(four().position_of({9}) == 3U);
  BOOST_TEST(four().position_of({5}) == 4U);
}

BOOST_AUTO_TEST_CASE(a_pair_wins_over_a_shared_link_and_that_over_the_usual_one) {
  BOOST_TEST((four().between(0, 1).link == link_estimate{}));
  BOOST_TEST((four().between(1, 2) == link_kind{radio, sharing::medium}));
  BOOST_TEST((four().between(3, 1) == link_kind{slow, sharing::pair}));
}

BOOST_AUTO_TEST_CASE(a_part_of_a_fleet_keeps_its_links) {
  const auto some = four().only({1, 3});
  BOOST_TEST(some.size() == 2U);
  BOOST_TEST((some.between(0, 1) == link_kind{slow, sharing::pair}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::planner::fleet_tests
