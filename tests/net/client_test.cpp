#include "net/tcp/client.hpp"

#include "net/tcp/frame.hpp"
#include "net/tcp/handshake.hpp"
#include "tests/net/witness.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

namespace perigee::net::tests {

namespace {

using namespace std::chrono_literals;

/// A peer that answers as told.
struct peer_and_client {
  test_threads threads;
  witness at;
  std::unique_ptr<tcp_transport> net;
  std::optional<net::client> asking;

  explicit peer_and_client(std::function<void(tcp_transport&, peer_id, const message&)> answer) {
    net = opened({.self = p1}, at, threads);
    at.reaction = [this, answer = std::move(answer)](peer_id from, const message& what) {
      answer(*net, from, what);
    };
    auto made = net::client::connect(net->address(), deadline_in(60s));
    CHECK(made);
    asking.emplace(std::move(*made));
  }
};

/// Listens as a peer would, takes one client, and says and hears frames by hand.
struct raw_peer {
  unique_fd listening = std::move(*listen_on("127.0.0.1:0"));
  channels sockets;
  std::optional<net::client> asking;

  raw_peer() {
    std::jthread greeter([this] {
      sockets.control = greeted();
      sockets.bulk = greeted();
    });
    auto made = net::client::connect(local_address(listening.get()), deadline_in(60s));
    CHECK(made);
    asking.emplace(std::move(*made));
    greeter.join();
    CHECK(frame_from(sockets.control.get()).kind == frame_kind::credit);
  }
  void say(std::span<const std::byte> data) const { CHECK(write_all(sockets.control.get(), data)); }
  [[nodiscard]] message hear() const { return *decoded(frame_from(sockets.control.get()).payload); }

private:
  static frame frame_from(int fd) {
    auto got =
        read_control_frame([fd](std::span<std::byte> into) { return read_exactly(fd, into); });
    CHECK(got);
    return std::move(*got);
  }
  [[nodiscard]] unique_fd greeted() const {
    CHECK(wait_readable(listening.get(), deadline_in(60s), nullptr));
    unique_fd fd(::accept(listening.get(), nullptr, nullptr));
    frame_prefix prefix{};
    CHECK(read_exactly(fd.get(), prefix));
    std::vector<std::byte> payload(fields_of(prefix).size);
    CHECK(read_exactly(fd.get(), payload));
    const auto theirs = decoded_greeting(payload);
    const caller us{p1, 1, link_role::peer, ""};
    CHECK(theirs &&
          write_all(fd.get(), greeting_frame(greeting(us, theirs->channel, theirs->nonce))));
    return fd;
  }
};

measurement measured(std::uint64_t step) {
  measurement made;
  made.step = step;
  made.values.resize(8'000);
  return made;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(client)

BOOST_AUTO_TEST_CASE(a_question_is_answered) {
  peer_and_client both([](tcp_transport& net, peer_id from, const message&) {
    status_report report;
    report.dropped_frames = 42;
    (void)net.send(from, report);
  });
  const auto answer = both.asking->ask(status_request{}, deadline_in(60s));
  BOOST_REQUIRE(answer);
  BOOST_TEST(std::get<status_report>(*answer).dropped_frames == 42U);
  BOOST_TEST((both.asking->peer() == p1));
  BOOST_TEST(both.at.lines()[0].ends_with(", a client"));
}

BOOST_AUTO_TEST_CASE(answers_stream_and_pings_are_answered_meanwhile) {
  peer_and_client both([](tcp_transport& net, peer_id from, const message& what) {
    if (!std::holds_alternative<subscription>(what)) return;
    for (std::uint64_t i = 0; i < 3; ++i) {
      (void)net.send(from, ping{i});
      progress news;
      news.step = i;
      (void)net.send(from, news);
    }
  });
  BOOST_REQUIRE(both.asking->tell(subscription{}, deadline_in(60s)));
  for (std::uint64_t i = 0; i < 3; ++i) {
    const auto news = both.asking->next(deadline_in(60s));
    BOOST_REQUIRE(news);
    BOOST_TEST(std::get<progress>(*news).step == i);
  }
  BOOST_REQUIRE(both.at.wait([&] { return both.at.messages.size() == 4; }));
  BOOST_TEST((both.at.messages[3].what == message(pong{2})));
}

BOOST_AUTO_TEST_CASE(silence_ends_at_the_deadline_and_harms_nothing) {
  peer_and_client both([](tcp_transport& net, peer_id from, const message& what) {
    if (std::holds_alternative<status_request>(what)) (void)net.send(from, remark{{}, "here"});
  });
  const auto nothing = both.asking->next(deadline_in(1ms));
  BOOST_REQUIRE(!nothing);
  BOOST_TEST((nothing.why().code == errc::timed_out));
  BOOST_REQUIRE(both.asking->ask(status_request{}, deadline_in(60s)));
}

BOOST_AUTO_TEST_CASE(a_state_is_received_to_the_bit) {
  const auto data = pattern(12'345'678, 1);
  peer_and_client both([&](tcp_transport& net, peer_id from, const message& what) {
    const auto* asked = std::get_if<state_request>(&what);
    if (asked == nullptr) return;
    const tensor_label label{
        asked->job, 99, {tensor_kind::state, 5, asked->layer, 0}, {data.size()}};
    (void)net.send(from, remark{{}, "it comes"});
    (void)net.transmit(from, label, data);
  });
  const job_id job{{1, 2}};
  BOOST_REQUIRE(both.asking->tell(state_request{job, 4}, deadline_in(60s)));
  const auto got = both.asking->receive_tensor(
      {job, 0, {tensor_kind::state, 5, 4, 0}, {12'345'678}}, deadline_in(60s));
  BOOST_REQUIRE(got);
  BOOST_TEST((*got == data));
  BOOST_TEST((*both.asking->next(deadline_in(60s)) == message(remark{{}, "it comes"})));
}

BOOST_AUTO_TEST_CASE(a_state_that_is_not_there_is_told_with_its_reason) {
  peer_and_client both([](tcp_transport& net, peer_id from, const message& what) {
    const auto* asked = std::get_if<state_request>(&what);
    if (asked == nullptr) return;
    (void)net.send(from, missing{asked->job, asked->layer, {errc::stale, "it is still running"}});
  });
  BOOST_REQUIRE(both.asking->tell(state_request{{}, 4}, deadline_in(60s)));
  const auto got = both.asking->receive_tensor({{}, 0, {tensor_kind::state, 5, 4, 0}, {12'345'678}},
                                               deadline_in(60s));
  BOOST_REQUIRE(!got);
  BOOST_TEST((got.why() == error{errc::unavailable, "it is still running"}));
}

BOOST_AUTO_TEST_CASE(a_peer_that_goes_is_noticed) {
  peer_and_client both([](tcp_transport& net, peer_id from, const message&) { net.close(from); });
  const auto answer = both.asking->ask(farewell{}, deadline_in(60s));
  BOOST_REQUIRE(!answer);
  BOOST_TEST((answer.why().code != errc::timed_out));
}

BOOST_AUTO_TEST_CASE(nobody_there_and_something_else_there_are_told_apart) {
  const auto nobody = net::client::connect("127.0.0.1:1", deadline_in(60s));
  BOOST_REQUIRE(!nobody);
  BOOST_TEST(nobody.why().what == "cannot connect to 127.0.0.1:1: connection refused");
  const auto silent = listen_on("127.0.0.1:0");
  const auto address = local_address(silent->get());
  const auto waited = net::client::connect(address, deadline_in(10ms));
  BOOST_REQUIRE(!waited);
  BOOST_TEST(waited.why().what == "greeting " + address + ": no answer in time");
}

BOOST_AUTO_TEST_CASE(a_state_of_another_size_is_refused_before_it_is_all_here) {
  const auto data = pattern(5'000'000, 1);
  peer_and_client both([&](tcp_transport& net, peer_id from, const message& what) {
    const auto* asked = std::get_if<state_request>(&what);
    if (asked == nullptr) return;
    const tensor_ref what_comes{tensor_kind::state, 5, asked->layer, 0};
    (void)net.transmit(from, {asked->job, 99, what_comes, {data.size()}}, data);
  });
  BOOST_REQUIRE(both.asking->tell(state_request{{}, 4}, deadline_in(60s)));
  const auto got =
      both.asking->receive_tensor({{}, 0, {tensor_kind::state, 5, 4, 0}, {1024}}, deadline_in(60s));
  BOOST_REQUIRE(!got);
  BOOST_TEST((got.why().code == errc::malformed));
  BOOST_TEST(got.why().what == "state 4 after 5 steps: 5000000 bytes announced, 1024 expected");
  BOOST_TEST(both.asking->dropped() == 1U);
}

BOOST_AUTO_TEST_CASE(a_message_of_a_kind_we_do_not_know_is_skipped_and_counted) {
  raw_peer other;
  auto unknown = encoded(ping{7});
  auto& tag = unknown.at(16);  // behind the table of segments and the root's pointer
  BOOST_REQUIRE((tag == std::byte{1}));
  tag = std::byte{0xee};
  BOOST_REQUIRE((decoded(unknown).why().code == errc::unsupported));
  other.say(framed(frame_kind::message, unknown));
  other.say(framed(frame_kind::message, encoded(remark{{}, "known"})));
  const auto news = other.asking->next(deadline_in(60s));
  BOOST_REQUIRE(news);
  BOOST_TEST((*news == message(remark{{}, "known"})));
  BOOST_TEST(other.asking->dropped() == 1U);
}

BOOST_AUTO_TEST_CASE(a_frame_of_no_bytes_or_of_gigabytes_ends_the_connection_before_any_of_it) {
  const auto answer_to = [](std::uint32_t size) {
    raw_peer other;
    other.say(prefix_of(frame_kind::message, size));
    const auto news = other.asking->next(deadline_in(60s));
    CHECK(!news && other.asking->tell(ping{}, deadline_in(60s)).why() == news.why());
    return news.why().what;
  };
  BOOST_TEST(answer_to(0) == "malformed frame: it is empty");
  BOOST_TEST(answer_to(0xffffffff) == "malformed frame: 4294967295 bytes announced, 65536 allowed");
}

BOOST_AUTO_TEST_CASE(what_nobody_reads_is_not_told_beyond_the_deadline_and_loses_nothing) {
  raw_peer other;
  std::uint64_t told = 0;
  result<void> sent;
  while (sent) sent = other.asking->tell(measured(told++), deadline_in(5ms));
  BOOST_TEST((sent.why().code == errc::timed_out));
  std::jthread reader([&] {
    for (std::uint64_t i = 0; i < told; ++i) CHECK(other.hear() == message(measured(i)));
    other.say(framed(frame_kind::message, encoded(remark{{}, "all"})));
  });
  BOOST_TEST(static_cast<bool>(other.asking->next(deadline_in(60s))));
}

BOOST_AUTO_TEST_CASE(clients_beyond_the_limit_are_turned_away) {
  test_threads threads;
  witness at;
  const auto net = opened({.self = p1}, at, threads);
  std::vector<net::client> many;
  for (std::size_t i = 0; i < limits::clients_max; ++i) {
    auto made = net::client::connect(net->address(), deadline_in(60s));
    BOOST_REQUIRE(made);
    many.push_back(std::move(*made));
  }
  BOOST_REQUIRE(at.wait([&] { return at.linked.size() == limits::clients_max; }));
  BOOST_TEST(!net::client::connect(net->address(), deadline_in(60s)));
  BOOST_TEST(net->dropped() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::net::tests
