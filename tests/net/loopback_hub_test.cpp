#include "net/loopback/loopback_hub.hpp"

#include "net/limits.hpp"
#include "tests/net/witness.hpp"

#include <boost/test/unit_test.hpp>

namespace perigee::net::tests {

namespace {

/// Two linked members of a hub that is pumped by hand.
struct two_members {
  net::loopback_hub hub;
  witness at1;
  witness at2;
  std::unique_ptr<transport> net1 = hub.join(p1, at1);
  std::unique_ptr<transport> net2 = hub.join(p2, at2, link_role::client);

  two_members() {
    hub.connect(p1, p2);
    settle();
  }
  void settle() {
    while (hub.pump()) {}
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(loopback_hub)

BOOST_AUTO_TEST_CASE(both_members_hear_of_their_link_once) {
  two_members two;
  two.hub.connect(p1, p2);
  two.settle();
  BOOST_TEST(two.at1.lines().size() == 1U);
  BOOST_TEST(two.at1.lines()[0] == "linked p2, a client");
  BOOST_TEST(two.at2.lines().size() == 1U);
  BOOST_TEST(two.at2.lines()[0] == "linked p1");
}

BOOST_AUTO_TEST_CASE(messages_go_before_tensors_and_in_order) {
  two_members two;
  const auto data = pattern(1000, 1);
  BOOST_REQUIRE(two.net1->transmit(p2, label_of(0, 1000), data));
  BOOST_REQUIRE(two.net1->send(p2, ping{1}));
  BOOST_REQUIRE(two.net1->send(p2, ping{2}));
  BOOST_TEST(two.net1->figures(p2).queued.count == 1000U);
  BOOST_TEST(two.hub.pump());
  BOOST_TEST(two.hub.pump());
  BOOST_TEST((two.at2.messages[0].what == message(ping{1})));
  BOOST_TEST((two.at2.messages[1].what == message(ping{2})));
  BOOST_TEST(two.at2.arrivals.empty());
  BOOST_TEST(two.hub.pump());
  BOOST_TEST((two.at2.arrivals[0].data == data));
  BOOST_TEST(two.at1.transmitted[0].delivered);
  BOOST_TEST(!two.hub.pump());
}

BOOST_AUTO_TEST_CASE(an_unwanted_tensor_is_counted_and_its_buffer_given_back) {
  two_members two;
  two.at2.room = [](const tensor_label&) { return std::span<std::byte>{}; };
  const auto data = pattern(1000, 1);
  BOOST_REQUIRE(two.net1->transmit(p2, label_of(0, 1000), data));
  two.settle();
  BOOST_TEST(two.net2->dropped() == 1U);
  BOOST_TEST(two.at2.arrivals.empty());
  BOOST_TEST(two.at1.transmitted.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_broken_link_gives_tensors_back_first_and_carries_nothing_more) {
  two_members two;
  const auto data = pattern(1000, 1);
  BOOST_REQUIRE(two.net1->transmit(p2, label_of(0, 1000), data));
  two.net1->close(p2);
  BOOST_TEST((two.net1->send(p2, ping{}).why().code == errc::unknown_peer));
  two.settle();
  BOOST_TEST(two.at1.transmitted.size() == 1U);
  BOOST_TEST(!two.at1.transmitted[0].delivered);
  BOOST_TEST(two.at1.lines()[1] == "unlinked p2: closed by p1");
  BOOST_TEST(two.at2.lines()[1] == "unlinked p1: closed by p1");
  BOOST_TEST(two.at2.arrivals.empty());
}

BOOST_AUTO_TEST_CASE(a_link_that_comes_again_carries_only_what_is_new) {
  two_members two;
  const auto data = pattern(1000, 1);
  BOOST_REQUIRE(two.net1->transmit(p2, label_of(0, 1000), data));
  two.hub.disconnect(p1, p2, {errc::io, "cut"});
  two.hub.connect(p1, p2);
  BOOST_REQUIRE(two.net1->transmit(p2, label_of(1, 1000), data));
  two.settle();
  BOOST_TEST(two.at2.arrivals.size() == 1U);
  BOOST_TEST(two.at2.arrivals[0].label.what.index == 1U);
  BOOST_TEST(two.at1.transmitted.size() == 2U);
  BOOST_TEST(two.at1.lines()[1] == "unlinked p2: cut");
}

BOOST_AUTO_TEST_CASE(a_member_that_leaves_is_told_to_its_neighbours) {
  two_members two;
  two.net2 = nullptr;
  two.settle();
  BOOST_TEST(two.at1.lines()[1] == "unlinked p2: closed by p2");
  BOOST_TEST(!two.net1->figures(p2).linked);
}

BOOST_AUTO_TEST_CASE(bounds_hold_in_memory_too) {
  two_members two;
  const auto data = pattern(1, 1);
  for (std::size_t i = 0; i < limits::control_queue_max; ++i) {
    BOOST_REQUIRE(two.net1->send(p2, ping{i}));
  }
  BOOST_TEST((two.net1->send(p2, ping{}).why().code == errc::exhausted));
  measurement large;
  large.values.resize(20'000);
  BOOST_TEST((two.net1->send(p2, large).why().code == errc::exhausted));
  BOOST_TEST((two.net1->transmit(p2, label_of(0, 0), {}).why().code == errc::malformed));
  BOOST_TEST((two.net1->transmit(p3, label_of(0, 1), data).why().code == errc::unknown_peer));
}

BOOST_AUTO_TEST_CASE(a_hub_with_a_thread_delivers_by_itself) {
  const auto data = pattern(1'000'000, 1);
  test_threads threads;
  two_members two;
  two.hub.serve(threads.spawn());
  two.at2.reaction = [&](peer_id from, const message&) { (void)two.net2->send(from, pong{}); };
  BOOST_REQUIRE(two.net1->send(p2, ping{}));
  BOOST_REQUIRE(two.net1->transmit(p2, label_of(0, data.size()), data));
  BOOST_TEST(two.at1.wait([&] { return two.at1.messages.size() == 1; }));
  BOOST_TEST(two.at2.wait([&] { return two.at2.arrivals.size() == 1; }));
  two.hub.stop();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::net::tests
