#include "net/sim/sim_transport.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstring>

namespace perigee::net::sim_transport_tests {

namespace {

using namespace std::chrono_literals;

/// Writes down what it is told, with the time.
class diary final : public owner {
public:
  explicit diary(event_queue& clock) : clock_(clock) {}

  void on_linked(peer_id who, link_role) override { note("linked " + text(who)); }
  void on_unlinked(peer_id who, const error& why) override {
    note("unlinked " + text(who) + ": " + why.what);
  }
  void on_heard(peer_id who) override { note("heard " + text(who)); }
  void on_message(peer_id from, message what) override {
    note("from " + text(from) + " " + text(what));
  }
  std::span<std::byte> room_for(peer_id, const tensor_label& label) override {
    if (label.what.layer == 9) return {};
    return std::as_writable_bytes(std::span(&received, 1));
  }
  void on_arrived(peer_id from, const tensor_label&) override {
    note("tensor " + std::to_string(received) + " from " + text(from));
  }
  void on_transmitted(peer_id to, const tensor_label&, bool delivered) override {
    note((delivered ? "sent to " : "not sent to ") + text(to));
  }

  std::string lines;
  std::uint64_t received = 0;

private:
  void note(const std::string& what) {
    lines += text(duration(clock_.now().time_since_epoch())) + " " + what + "\n";
  }
  event_queue& clock_;
};

struct two_peers {
  event_queue queue;
  sim_network network{queue};
  diary first{queue};
  diary second{queue};

  /// 1 ms away, 1,000,000 bytes a second.
  two_peers() {
    network.add({1}, first);
    network.add({2}, second);
    network.connect(0, 1, {1ms, 1'000'000}, instant{});
    run();
  }
  void run() {
    while (!queue.empty()) network.handle(queue.pop());
  }
  std::string told(diary& d) {
    run();
    return std::exchange(d.lines, {});
  }
  transport& carrier(std::uint32_t position) { return network.transport_of(position); }
};

tensor_label label_of(std::uint64_t size, std::uint32_t layer = 1) {
  return {{}, 5, {tensor_kind::activation, 0, layer, 0}, {size}};
}

std::span<const std::byte> bytes_of(const std::uint64_t& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sim_transport)

BOOST_AUTO_TEST_CASE(both_ends_hear_of_a_link) {
  two_peers t;
  BOOST_TEST(t.told(t.first) == "0 ns linked p2\n");
  BOOST_TEST(t.told(t.second) == "0 ns linked p1\n");
}

BOOST_AUTO_TEST_CASE(messages_arrive_in_order_after_the_latency) {
  two_peers t;
  (void)t.told(t.second);
  BOOST_TEST(static_cast<bool>(t.carrier(0).send({2}, ping{1})));
  BOOST_TEST(static_cast<bool>(t.carrier(0).send({2}, ping{2})));
  BOOST_TEST(t.told(t.second) == "1.3 ms from p1 ping 1\n1.5 ms from p1 ping 2\n");
}

BOOST_AUTO_TEST_CASE(control_does_not_wait_behind_bulk) {
  two_peers t;
  (void)t.told(t.second);
  const std::uint64_t value = 7;
  BOOST_TEST(static_cast<bool>(t.carrier(0).transmit({2}, label_of(400'000), bytes_of(value))));
  BOOST_TEST(static_cast<bool>(t.carrier(0).send({2}, ping{1})));
  BOOST_TEST(t.carrier(0).figures({2}).queued.count == 400'000U);
  BOOST_TEST(t.told(t.second) == "1.3 ms from p1 ping 1\n401.0 ms tensor 7 from p1\n");
  BOOST_TEST(t.carrier(0).figures({2}).queued.count == 0U);
  BOOST_TEST(t.carrier(0).figures({2}).sent.count == 400'000U);
  BOOST_TEST(t.carrier(1).figures({1}).received.count == 400'000U);
}

BOOST_AUTO_TEST_CASE(a_long_transfer_is_heard) {
  two_peers t;
  (void)t.told(t.second);
  const std::uint64_t value = 7;
  BOOST_TEST(static_cast<bool>(t.carrier(0).transmit({2}, label_of(1'200'000), bytes_of(value))));
  BOOST_TEST(t.told(t.second) == "501.0 ms heard p1\n1.0 s heard p1\n1.2 s tensor 7 from p1\n");
}

BOOST_AUTO_TEST_CASE(a_tensor_without_room_is_dropped) {
  two_peers t;
  (void)t.told(t.second);
  const std::uint64_t value = 7;
  BOOST_TEST(static_cast<bool>(t.carrier(0).transmit({2}, label_of(8, 9), bytes_of(value))));
  BOOST_TEST(t.told(t.second) == "");
  BOOST_TEST(t.carrier(1).dropped() == 1U);
}

BOOST_AUTO_TEST_CASE(a_closed_link_gives_back_what_was_not_sent) {
  two_peers t;
  (void)t.told(t.first);
  (void)t.told(t.second);
  const std::uint64_t value = 7;
  BOOST_TEST(static_cast<bool>(t.carrier(0).transmit({2}, label_of(400'000), bytes_of(value))));
  t.carrier(0).close({2});
  BOOST_TEST(t.told(t.first) == "0 ns not sent to p2\n0 ns unlinked p2: closed\n");
  BOOST_TEST(t.told(t.second) == "1.0 ms unlinked p1: closed\n");
  BOOST_TEST(t.carrier(0).send({2}, ping{1}).why().what == "no link to p2");
  BOOST_TEST(t.carrier(0).transmit({2}, label_of(8), bytes_of(value)).why().what ==
             "no link to p2");
}

BOOST_AUTO_TEST_CASE(a_stranger_has_no_link) {
  two_peers t;
  BOOST_TEST(t.carrier(0).send({7}, ping{1}).why().what == "no link to p7");
  BOOST_TEST(!t.carrier(0).figures({7}).linked);
}

BOOST_AUTO_TEST_CASE(the_dead_hear_nothing) {
  two_peers t;
  (void)t.told(t.second);
  (void)t.told(t.first);
  BOOST_TEST(static_cast<bool>(t.carrier(0).send({2}, ping{1})));
  t.network.remove(1, {errc::unavailable, "its process ended"});
  BOOST_TEST(t.told(t.second) == "");
  BOOST_TEST(t.told(t.first) == "1.0 ms unlinked p2: its process ended\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::net::sim_transport_tests
