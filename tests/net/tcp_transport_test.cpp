#include "net/tcp/tcp_transport.hpp"

#include "tests/net/witness.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <string>
#include <utility>

namespace perigee::net::tests {

namespace {

/// One message of each kind there is, in the order of the union.
template <std::size_t... Is>
std::vector<message> one_of_each(std::index_sequence<Is...>) {
  return {message(std::in_place_index<Is>)...};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tcp_transport)

BOOST_AUTO_TEST_CASE(every_kind_of_message_crosses_in_order) {
  two_peers peers;
  const auto all = one_of_each(std::make_index_sequence<std::variant_size_v<message>>());
  for (const auto& one : all) BOOST_REQUIRE(peers.net1->send(p2, one));
  BOOST_REQUIRE(peers.at2.wait([&] { return peers.at2.messages.size() == all.size(); }));
  for (std::size_t i = 0; i < all.size(); ++i) {
    BOOST_TEST((peers.at2.messages[i].what == all[i]), text(all[i]));
    BOOST_TEST((peers.at2.messages[i].from == p1));
  }
}

BOOST_AUTO_TEST_CASE(the_one_that_listens_speaks_too) {
  two_peers peers;
  BOOST_REQUIRE(peers.net2->send(p1, ping{17}));
  BOOST_REQUIRE(peers.at1.wait([&] { return !peers.at1.messages.empty(); }));
  BOOST_TEST((peers.at1.messages[0].what == message(ping{17})));
  BOOST_TEST(peers.at1.wait([&] { return peers.at1.heard > 0; }));
}

BOOST_AUTO_TEST_CASE(a_large_tensor_arrives_to_the_bit) {
  const auto data = pattern(16U << 20U, 3);
  two_peers peers;
  const auto label = label_of(1, data.size());
  BOOST_REQUIRE(peers.net1->transmit(p2, label, data));
  BOOST_REQUIRE(peers.at2.wait([&] { return peers.at2.arrivals.size() == 1; }));
  BOOST_TEST((peers.at2.arrivals[0].label == label));
  BOOST_TEST((peers.at2.arrivals[0].data == data));
  BOOST_REQUIRE(peers.at1.wait([&] { return peers.at1.transmitted.size() == 1; }));
  BOOST_TEST(peers.at1.transmitted[0].delivered);
}

BOOST_AUTO_TEST_CASE(a_small_pool_carries_a_large_tensor) {
  const auto data = pattern(5'000'001, 3);
  two_peers peers({100'000});
  BOOST_REQUIRE(peers.net1->transmit(p2, label_of(1, data.size()), data));
  BOOST_REQUIRE(peers.at2.wait([&] { return peers.at2.arrivals.size() == 1; }));
  BOOST_TEST((peers.at2.arrivals[0].data == data));
}

BOOST_AUTO_TEST_CASE(many_tensors_cross_both_ways_at_once) {
  constexpr std::uint32_t count = 200;
  std::vector<std::vector<std::byte>> data;
  two_peers peers;
  for (std::uint32_t i = 0; i < count; ++i) data.push_back(pattern(1 + i * 997, i));
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto kind = i % 3 == 0 ? tensor_kind::state : tensor_kind::gradient;
    BOOST_REQUIRE(peers.net1->transmit(p2, label_of(i, data[i].size(), kind), data[i]));
    BOOST_REQUIRE(peers.net2->transmit(p1, label_of(i, data[i].size(), kind), data[i]));
  }
  for (auto* at : {&peers.at1, &peers.at2}) {
    BOOST_REQUIRE(
        at->wait([&] { return at->arrivals.size() == count && at->transmitted.size() == count; }));
    for (const auto& a : at->arrivals) BOOST_TEST((a.data == data[a.label.what.index]));
  }
}

BOOST_AUTO_TEST_CASE(an_unwanted_tensor_is_dropped_and_the_next_arrives) {
  std::vector<std::byte> room(4);
  const auto large = pattern(3'000'000, 1);
  const auto small = pattern(4, 2);
  two_peers peers;
  peers.at2.room = [&](const tensor_label& l) {
    return l.what.index == 0 ? std::span<std::byte>{} : std::span(room);
  };
  BOOST_REQUIRE(peers.net1->transmit(p2, label_of(0, large.size()), large));
  BOOST_REQUIRE(peers.net1->transmit(p2, label_of(1, small.size()), small));
  BOOST_REQUIRE(peers.at2.wait([&] { return peers.at2.arrivals.size() == 1; }));
  BOOST_TEST((room == small));
  BOOST_TEST(peers.net2->dropped() == 1U);
}

BOOST_AUTO_TEST_CASE(control_goes_round_while_a_receiver_is_stuck) {
  std::atomic<bool> open = false;
  std::vector<std::byte> room(30'000'000);
  const auto data = pattern(room.size(), 1);
  two_peers peers;
  peers.at2.room = [&](const tensor_label&) {
    open.wait(false);
    return std::span(room);
  };
  peers.at2.reaction = [&](peer_id from, const message& what) {
    if (const auto* asked = std::get_if<ping>(&what)) {
      (void)peers.net2->send(from, pong{asked->count});
    }
  };
  BOOST_REQUIRE(peers.net1->transmit(p2, label_of(0, data.size()), data));
  for (std::uint64_t i = 0; i < 100; ++i) {
    BOOST_REQUIRE(peers.net1->send(p2, ping{i}));
    BOOST_REQUIRE(peers.at1.wait([&] { return peers.at1.messages.size() == i + 1; }));
  }
  const auto figures = peers.net1->figures(p2);
  BOOST_TEST(figures.round_trip.count() > 0);
  BOOST_TEST(figures.queued.count >= data.size() - limits::window_max);
  open = true;
  open.notify_all();
  BOOST_REQUIRE(peers.at2.wait([&] { return peers.at2.arrivals.size() == 1; }));
  BOOST_TEST((room == data));
}

BOOST_AUTO_TEST_CASE(control_goes_round_while_bulk_saturates) {
  std::atomic<bool> again = true;
  const auto data = pattern(4'000'000, 1);
  std::vector<std::byte> room(data.size());
  two_peers peers;
  peers.at2.reaction = [&](peer_id from, const message& what) {
    if (const auto* asked = std::get_if<ping>(&what)) {
      (void)peers.net2->send(from, pong{asked->count});
    }
  };
  peers.at2.room = [&](const tensor_label&) { return std::span(room); };
  // What has left is given again: bulk is at it as long as the pings are.
  peers.at1.sent = [&](const tensor_label& label) {
    if (again) (void)peers.net1->transmit(p2, label, data);
  };
  for (std::uint32_t i = 0; i < 4; ++i) {
    BOOST_REQUIRE(peers.net1->transmit(p2, label_of(i, data.size()), data));
  }
  for (std::uint64_t i = 0; i < 50; ++i) {
    BOOST_REQUIRE(peers.net1->send(p2, ping{i}));
    BOOST_REQUIRE(peers.at1.wait([&] { return peers.at1.messages.size() == i + 1; }));
  }
  again = false;
  BOOST_TEST(peers.net1->figures(p2).queued.count > 0U);
}

BOOST_AUTO_TEST_CASE(nobody_can_be_spoken_to_without_a_link) {
  const auto data = pattern(4, 1);
  two_peers peers;
  const auto sent = peers.net1->send(p3, ping{});
  BOOST_REQUIRE(!sent);
  BOOST_TEST((sent.why() == error{errc::unknown_peer, "no link to p3"}));
  BOOST_TEST((peers.net1->transmit(p3, label_of(0, 4), data).why().code == errc::unknown_peer));
  BOOST_TEST(!peers.net1->figures(p3).linked);
  peers.net1->close(p3);
}

BOOST_AUTO_TEST_CASE(a_message_beyond_a_frame_is_refused_and_the_link_lives) {
  two_peers peers;
  measurement large;
  large.values.resize(20'000);
  const auto sent = peers.net1->send(p2, large);
  BOOST_REQUIRE(!sent);
  BOOST_TEST((sent.why().code == errc::exhausted));
  BOOST_REQUIRE(peers.net1->send(p2, ping{}));
  BOOST_REQUIRE(peers.at2.wait([&] { return !peers.at2.messages.empty(); }));
}

BOOST_AUTO_TEST_CASE(the_queue_of_frames_is_bounded_when_nobody_reads) {
  std::atomic<bool> open = false;
  two_peers peers;
  peers.at2.reaction = [&](peer_id, const message&) { open.wait(false); };
  measurement large;
  large.values.resize(7'000);
  result<void> sent;
  std::size_t taken = 0;
  for (; taken < 10'000 && (sent = peers.net1->send(p2, large)); ++taken) {}
  BOOST_REQUIRE(!sent);
  BOOST_TEST((sent.why() == error{errc::exhausted, "too many frames wait on the link"}));
  open = true;
  open.notify_all();
  BOOST_REQUIRE(peers.at2.wait([&] { return peers.at2.messages.size() == taken; }));
}

BOOST_AUTO_TEST_CASE(a_closed_link_gives_back_what_it_was_lent_and_comes_up_again) {
  std::atomic<bool> open = false;
  const auto data = pattern(20'000'000, 1);
  std::vector<std::byte> room(data.size());
  two_peers peers;
  peers.at2.room = [&](const tensor_label&) {
    open.wait(false);
    return std::span(room);
  };
  for (std::uint32_t i = 0; i < 3; ++i) {
    BOOST_REQUIRE(peers.net1->transmit(p2, label_of(i, data.size()), data));
  }
  peers.net1->close(p2);
  BOOST_REQUIRE(peers.at1.wait([&] { return peers.at1.lines().size() >= 2; }));
  BOOST_TEST(peers.at1.lines()[1] == "unlinked p2: closed here");
  BOOST_REQUIRE(peers.at1.wait([&] { return peers.at1.transmitted.size() == 3; }));
  for (const auto& one : peers.at1.transmitted) BOOST_TEST(!one.delivered);
  open = true;
  open.notify_all();
  BOOST_REQUIRE(peers.at2.wait([&] { return peers.at2.lines().size() >= 3; }));
  BOOST_TEST(peers.at2.lines()[1].starts_with("unlinked p1: closed by peer"));
  BOOST_TEST(peers.at2.lines()[2] == "linked p1");
  BOOST_TEST(peers.at2.arrivals.empty());
}

BOOST_AUTO_TEST_CASE(owners_may_send_transmit_and_close_from_their_callbacks) {
  const auto data = pattern(100'000, 1);
  two_peers peers;
  peers.at2.reaction = [&](peer_id from, const message& what) {
    (void)peers.net2->send(from, pong{});
    (void)peers.net2->transmit(from, label_of(0, data.size()), data);
    if (std::get<ping>(what).count == 9) peers.net2->close(from);
  };
  for (std::uint64_t i = 0; i < 10; ++i) BOOST_REQUIRE(peers.net1->send(p2, ping{i}));
  BOOST_REQUIRE(peers.at1.wait([&] { return peers.at1.lines().size() >= 3; }));
  BOOST_REQUIRE(peers.at2.wait([&] { return peers.at2.transmitted.size() == 10; }));
}

BOOST_AUTO_TEST_CASE(a_peer_that_starts_again_is_linked_again) {
  test_threads threads;
  witness at1;
  witness at2;
  witness again;
  auto net2 = opened({.self = p2, .neighbours = {{p1, ""}}}, at2, threads);
  const auto address = net2->address();
  const auto net1 = opened({.self = p1, .neighbours = {{p2, address}}}, at1, threads);
  BOOST_REQUIRE(at1.wait([&] { return at1.linked.contains(p2); }));
  net2 = nullptr;
  BOOST_REQUIRE(at1.wait([&] { return at1.lines().size() == 2; }));
  net2 = opened({.self = p2, .incarnation = 2, .listen = address, .neighbours = {{p1, ""}}}, again,
                threads);
  BOOST_REQUIRE(at1.wait([&] { return at1.lines().size() == 3; }));
  BOOST_TEST(at1.lines()[1].starts_with("unlinked p2: "));
  BOOST_TEST(at1.lines()[2] == "linked p2");
  BOOST_REQUIRE(net1->send(p2, ping{3}));
  BOOST_REQUIRE(again.wait([&] { return again.messages.size() == 1; }));
}

BOOST_AUTO_TEST_CASE(a_higher_incarnation_replaces_the_link_and_an_equal_one_is_turned_away) {
  test_threads threads;
  witness at2;
  witness first;
  witness twin;
  witness second;
  const auto net2 = opened({.self = p2, .neighbours = {{p1, ""}}}, at2, threads);
  const std::vector<tcp_neighbour> whom{{p2, net2->address()}};
  const auto net1 = opened({.self = p1, .incarnation = 5, .neighbours = whom}, first, threads);
  BOOST_REQUIRE(at2.wait([&] { return at2.linked.contains(p1); }));
  const auto same = opened({.self = p1, .incarnation = 5, .neighbours = whom}, twin, threads);
  BOOST_REQUIRE(counted(*net2, 2));  // it tried, and tried again
  BOOST_TEST(at2.lines().size() == 1U);
  BOOST_TEST(twin.lines().empty());
  same->stop();
  const auto net3 = opened({.self = p1, .incarnation = 6, .neighbours = whom}, second, threads);
  BOOST_REQUIRE(at2.wait([&] { return at2.lines().size() == 3; }));
  BOOST_TEST(at2.lines()[1] == "unlinked p1: replaced by a link of a newer incarnation");
  BOOST_TEST(at2.lines()[2] == "linked p1");
}

BOOST_AUTO_TEST_CASE(strangers_and_ourselves_are_not_linked) {
  test_threads threads;
  witness at2;
  witness at1;
  witness self;
  const auto net2 = opened({.self = p2, .neighbours = {{p3, "127.0.0.1:1"}}}, at2, threads);
  const std::vector<tcp_neighbour> whom{{p2, net2->address()}};
  const auto stranger = opened({.self = p1, .neighbours = whom}, at1, threads);
  const std::vector<tcp_neighbour> wrong{{p3, net2->address()}};
  const auto ourselves = opened({.self = p2, .neighbours = wrong}, self, threads);
  BOOST_REQUIRE(counted(*net2, 4));
  BOOST_TEST(at2.lines().empty());
  BOOST_TEST(at1.lines().empty());
  BOOST_TEST(self.lines().empty());
}

BOOST_AUTO_TEST_CASE(a_stranger_is_linked_where_strangers_are_welcome) {
  test_threads threads;
  witness at1;
  witness at2;
  const auto net2 = opened({.self = p2, .accept_unknown = true}, at2, threads);
  const auto net1 = opened({.self = p1, .neighbours = {{p2, net2->address()}}}, at1, threads);
  BOOST_TEST(at2.wait([&] { return at2.linked.contains(p1); }));
}

BOOST_AUTO_TEST_CASE(a_port_in_use_is_told_when_opening) {
  test_threads threads;
  witness at;
  const auto first = opened({.self = p1}, at, threads);
  tcp_config config;
  config.self = p2;
  config.listen_address = first->address();
  config.spawn = threads.spawn();
  const auto second = net::tcp_transport::open(std::move(config), at);
  BOOST_REQUIRE(!second);
  BOOST_TEST(second.why().what == "cannot listen on " + first->address() +
                                      ": address already in use; choose another --listen");
}

BOOST_AUTO_TEST_CASE(stopping_in_the_middle_of_transfers_returns_and_gives_everything_back) {
  const auto data = pattern(8'000'000, 1);
  std::vector<std::byte> room(data.size());
  two_peers peers;
  peers.at1.room = peers.at2.room = [&](const tensor_label&) { return std::span(room); };
  for (std::uint32_t i = 0; i < 100; ++i) {
    BOOST_REQUIRE(peers.net1->transmit(p2, label_of(i, data.size()), data));
  }
  BOOST_REQUIRE(peers.at2.wait([&] { return !peers.at2.arrivals.empty(); }));
  peers.net1->stop();
  BOOST_TEST(peers.at1.lines().back() == "unlinked p2: stopped here");
  BOOST_TEST(peers.at1.transmitted.size() == 100U);
  BOOST_TEST(!peers.at1.transmitted.back().delivered);
  BOOST_TEST(!peers.net1->send(p2, ping{}));
}

BOOST_AUTO_TEST_CASE(a_held_transport_links_nobody_before_it_is_started) {
  test_threads threads;
  witness at1;
  witness at2;
  const auto net2 = opened({.self = p2, .neighbours = {{p1, ""}}}, at2, threads);
  tcp_config config;
  config.self = p1;
  config.neighbours = {{p2, net2->address()}};
  config.spawn = threads.spawn();
  config.held = true;
  auto net1 = net::tcp_transport::open(std::move(config), at1);
  BOOST_REQUIRE(net1);
  BOOST_TEST(!(*net1)->figures(p2).linked);
  (*net1)->start();
  BOOST_TEST(at1.wait([&] { return at1.linked.contains(p2); }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::net::tests
