#include "net/tcp/dial.hpp"
#include "net/tcp/frame.hpp"
#include "proto/base/random.hpp"
#include "tests/net/witness.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/socket.h>

#include <array>

namespace perigee::net::tests {

namespace {

using namespace std::chrono_literals;

real_time soon() { return std::chrono::steady_clock::now() + 60s; }

unique_fd connected_to(const std::string& address) {
  auto made = connect_to(address, soon(), nullptr);
  CHECK(made);
  return std::move(*made);
}

/// Waits until the other side closes; what it says before is not looked at.
bool closed_by_other(int fd) {
  std::array<std::byte, 4096> into{};
  while (true) {
    if (!wait_readable(fd, soon(), nullptr)) return false;
    const auto got = read_available(fd, into);
    if (!got) return true;
  }
}

/// A peer that gives who connects hardly any time.
struct impatient_peer {
  test_threads threads;
  witness at;
  std::unique_ptr<tcp_transport> net = opened({.self = p2, .greeting_patience = 20ms}, at, threads);
};

/// A link of a raw client, greeted and ready to misbehave.
channels greeted(const tcp_transport& net) {
  resolver names;
  auto made = dial({{77}, 1, link_role::client, "raw"}, net.address(), soon(), nullptr, names);
  CHECK(made);
  return std::move(made->sockets);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(garbage)

BOOST_AUTO_TEST_CASE(two_thousand_random_strings_are_counted_and_a_good_peer_still_works) {
  two_peers peers;
  constexpr std::uint64_t count = 2000;
  random draw(20, purpose::sampling, 1);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::vector<std::byte> data(1 + draw.below(5000));
    for (auto& b : data) b = static_cast<std::byte>(draw.word());
    const auto fd = connected_to(peers.net2->address());
    (void)write_all(fd.get(), data);
  }
  BOOST_TEST(counted(*peers.net2, count));
  BOOST_TEST(peers.net2->dropped() == count);
  BOOST_REQUIRE(peers.net1->send(p2, ping{1}));
  BOOST_REQUIRE(peers.at2.wait([&] { return peers.at2.messages.size() == 1; }));
  BOOST_TEST(peers.at2.lines().size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_greeting_of_announced_gigabytes_is_closed_before_a_byte_of_it) {
  two_peers peers;
  const auto fd = connected_to(peers.net2->address());
  BOOST_REQUIRE(write_all(fd.get(), prefix_of(frame_kind::hello, 0xffffffff)));
  BOOST_TEST(closed_by_other(fd.get()));
  BOOST_TEST(peers.net2->dropped() == 1U);
}

BOOST_AUTO_TEST_CASE(half_a_greeting_is_closed_at_its_deadline) {
  impatient_peer peer;
  const auto fd = connected_to(peer.net->address());
  BOOST_REQUIRE(write_all(fd.get(), prefix_of(frame_kind::hello, 100)));
  const auto silent = connected_to(peer.net->address());
  BOOST_TEST(closed_by_other(fd.get()));
  BOOST_TEST(closed_by_other(silent.get()));
  BOOST_TEST(peer.net->dropped() == 2U);
}

BOOST_AUTO_TEST_CASE(a_greeting_without_its_second_connection_is_closed_at_its_deadline) {
  impatient_peer peer;
  const auto fd = connected_to(peer.net->address());
  const caller us{{77}, 1, link_role::client, ""};
  BOOST_REQUIRE(write_all(fd.get(), greeting_frame(greeting(us, hello_channel::control, 5))));
  BOOST_TEST(closed_by_other(fd.get()));
  const auto bulk = connected_to(peer.net->address());
  BOOST_REQUIRE(write_all(bulk.get(), greeting_frame(greeting(us, hello_channel::bulk, 5))));
  BOOST_TEST(closed_by_other(bulk.get()));
  BOOST_TEST(peer.net->dropped() == 2U);
}

BOOST_AUTO_TEST_CASE(silent_strangers_do_not_keep_a_client_out) {
  two_peers peers;
  std::vector<unique_fd> silent;
  for (std::size_t i = 0; i < limits::half_open_max + 20; ++i) {
    silent.push_back(connected_to(peers.net2->address()));
  }
  const auto link = greeted(*peers.net2);
  BOOST_TEST(peers.at2.wait([&] { return peers.at2.linked.contains(peer_id{77}); }));
}

BOOST_AUTO_TEST_CASE(a_greeting_of_another_version_is_closed) {
  two_peers peers;
  auto theirs = greeting({{77}, 1, link_role::client, ""}, hello_channel::control, 5);
  theirs.version_min = theirs.version_max = protocol_version_max + 1;
  const auto fd = connected_to(peers.net2->address());
  BOOST_REQUIRE(write_all(fd.get(), greeting_frame(theirs)));
  BOOST_TEST(closed_by_other(fd.get()));
  BOOST_TEST(peers.net2->dropped() == 1U);
}

BOOST_AUTO_TEST_CASE(a_greeting_with_another_magic_is_closed) {
  two_peers peers;
  const auto good = greeting({{77}, 1, link_role::client, ""}, hello_channel::control, 5);
  auto frame = greeting_frame(good);
  const std::array magic{std::byte{'p'}, std::byte{'e'}, std::byte{'r'}, std::byte{'i'}};
  const auto at = std::search(frame.begin(), frame.end(), magic.begin(), magic.end());
  BOOST_REQUIRE((at != frame.end()));
  *at = std::byte{'q'};
  const auto fd = connected_to(peers.net2->address());
  BOOST_REQUIRE(write_all(fd.get(), frame));
  BOOST_TEST(closed_by_other(fd.get()));
  BOOST_TEST(peers.net2->dropped() == 1U);
}

BOOST_AUTO_TEST_CASE(a_client_with_the_identity_of_a_peer_is_closed) {
  two_peers peers;
  resolver names;
  for (const peer_id whose : {p1, p2, peer_id{}}) {
    const caller us{whose, 9, link_role::client, ""};
    BOOST_TEST(!dial(us, peers.net2->address(), soon(), nullptr, names));
  }
  BOOST_TEST(peers.net2->dropped() == 3U);
  BOOST_TEST(peers.at2.lines().size() == 1U);
}

BOOST_AUTO_TEST_CASE(nonsense_after_a_good_greeting_breaks_that_link_only) {
  two_peers peers;
  const auto misbehave = [&](bool on_bulk, std::span<const std::byte> data) {
    const auto before = peers.net2->dropped();
    const auto link = greeted(*peers.net2);
    CHECK(peers.at2.wait([&] { return peers.at2.linked.contains(peer_id{77}); }));
    const int fd = on_bulk ? link.bulk.get() : link.control.get();
    CHECK(write_all(fd, data));
    ::shutdown(fd, SHUT_WR);
    CHECK(peers.at2.wait([&] { return !peers.at2.linked.contains(peer_id{77}); }));
    BOOST_TEST(peers.net2->dropped() == before + 1);
    return peers.at2.lines().back();
  };
  const std::string gone = "unlinked " + text(peer_id{77}) + ": ";
  const auto noise = pattern(5000, 1);
  BOOST_TEST(misbehave(false, noise) == gone + "malformed frame: unexpected kind");
  BOOST_TEST(misbehave(true, noise) == gone + "malformed frame: unexpected kind");
  BOOST_TEST(misbehave(false, prefix_of(frame_kind::message, 65537)) ==
             gone + "malformed frame: 65537 bytes announced, 65536 allowed");
  BOOST_TEST(misbehave(false, prefix_of(frame_kind::message, 100)) ==
             gone + "closed by peer in the middle of a frame");
  BOOST_TEST(misbehave(false, framed(frame_kind::message, noise)).starts_with(gone + "malformed"));
  BOOST_TEST(misbehave(false, framed(frame_kind::credit, noise)).starts_with(gone + "malformed"));
  BOOST_TEST(misbehave(false, framed(frame_kind::credit, encoded(credit{~std::uint64_t{0}})))
                 .starts_with(gone + "malformed frame: a credit of "));
  BOOST_TEST(misbehave(true, framed(frame_kind::chunk, noise)).starts_with(gone + "malformed"));
  BOOST_REQUIRE(peers.net1->send(p2, ping{1}));
  BOOST_REQUIRE(peers.at2.wait([&] { return peers.at2.messages.size() == 1; }));
}

BOOST_AUTO_TEST_CASE(a_listener_that_is_no_peer_leaves_the_dialer_alive) {
  test_threads threads;
  witness at1;
  const auto listening = listen_on("127.0.0.1:0");
  const auto address = local_address(listening->get());
  const auto net1 = opened({.self = p1, .neighbours = {{p2, address}}}, at1, threads);
  BOOST_REQUIRE(wait_readable(listening->get(), soon(), nullptr));
  const unique_fd fd(::accept(listening->get(), nullptr, nullptr));
  BOOST_REQUIRE(write_all(fd.get(), pattern(5000, 1)));
  BOOST_TEST(closed_by_other(fd.get()));
  BOOST_REQUIRE(wait_readable(listening->get(), soon(), nullptr));  // it tries again
  BOOST_TEST(at1.lines().empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::net::tests
