#include "planner/plan/explain.hpp"

#include "tests/planner/fleets.hpp"

#include <boost/test/unit_test.hpp>

namespace perigee::planner::explain_tests {

namespace {

/// Two peers of one speed on a quick link, a third that is a thousand times slower.
fleets::instance with_a_snail() {
  auto of = fleets::make(11, fleets::family::compute);
  of.described.peers.resize(2);
  of.described.peers.push_back(of.described.peers[0]);
  for (std::size_t p = 0; p < 3; ++p) {
    of.described.peers[p].peer = {p + 1};
    of.described.peers[p].workers = 1;
    of.described.peers[p].memory_offer = {1ULL << 40U};
    const std::uint64_t rate = p == 2 ? 1'000'000 : 1'000'000'000;
    of.described.peers[p].rate = {rate, rate, rate, rate};
  }
  of.described.usual = {};
  of.described.pairs.clear();
  of.described.shared.clear();
  return of;
}

fleet_request request_for(const fleets::instance& of, const fleet& swarm) {
  return {&of.model, &swarm, &of.wanted, {}, {}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(explain)

BOOST_AUTO_TEST_CASE(a_slow_peer_idles_and_is_told_its_best_place) {
  const auto of = with_a_snail();
  const fleet swarm(of.described);
  const auto request = request_for(of, swarm);
  const auto made = plan_fleet(request);
  BOOST_REQUIRE(made);

  const auto idle = idle_in(request, *made);

  BOOST_REQUIRE(idle.size() == 1U);
  BOOST_TEST(idle[0].peer.value == 3U);
  BOOST_TEST(idle[0].why.starts_with("its best place, "));
  BOOST_TEST(idle[0].why.ends_with(" longer"), idle[0].why);
}

BOOST_AUTO_TEST_CASE(a_peer_without_room_is_told_by_how_much_it_is_short) {
  auto of = with_a_snail();
  of.described.peers[2].memory_offer = {1000};
  const fleet swarm(of.described);
  const auto request = request_for(of, swarm);
  const auto made = plan_fleet(request);
  BOOST_REQUIRE(made);
  BOOST_TEST(idle_in(request, *made)[0].why.find("short by") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_uncalibrated_peer_is_told_so) {
  auto of = with_a_snail();
  of.described.peers[2].rate = {};
  const fleet swarm(of.described);
  const auto request = request_for(of, swarm);
  const auto made = plan_fleet(request);
  BOOST_REQUIRE(made);
  BOOST_TEST(idle_in(request, *made)[0].why == "it has not measured its speed yet");
}

BOOST_AUTO_TEST_CASE(no_cut_of_a_proven_plan_would_be_faster_elsewhere) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto of = fleets::make(seed, fleets::family::compute);
    const fleet swarm(of.described);
    const auto request = request_for(of, swarm);
    const auto made = plan_fleet(request);
    BOOST_REQUIRE(made);
    const explanation e = planner::explain(request, *made, of.described);
    BOOST_TEST(e.cuts.size() + 1 == made->chosen.stages.size());
    for (const auto& line : e.cuts) BOOST_TEST(line.find("faster") == std::string::npos);
    for (const auto& one : e.idle) BOOST_TEST(one.why.find("missed") == std::string::npos);
    BOOST_TEST(e.gains.size() == 3U);
  }
}

BOOST_AUTO_TEST_CASE(one_more_peer_is_like_the_fastest_one_there_is) {
  const auto of = with_a_snail();
  const fleet swarm(of.described);
  const auto request = request_for(of, swarm);
  const auto made = plan_fleet(request);
  BOOST_REQUIRE(made);
  const explanation e = planner::explain(request, *made, of.described);
  BOOST_TEST(e.gains[0].starts_with("one more peer like p1: "));
}

BOOST_AUTO_TEST_CASE(a_step_that_waits_for_its_links_says_so) {
  auto of = with_a_snail();
  of.wanted.stages = 2;
  of.described.usual = {duration{1'000'000'000}, 1'000'000};
  const fleet swarm(of.described);
  const auto request = request_for(of, swarm);
  const auto made = plan_fleet(request);
  BOOST_REQUIRE(made);
  BOOST_TEST(planner::explain(request, *made, of.described).binding.starts_with("links bind"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::planner::explain_tests
