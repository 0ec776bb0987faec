#include "net/tcp/address.hpp"

#include "tests/net/witness.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/socket.h>

#include <atomic>
#include <future>
#include <memory>

namespace perigee::net::tests {

namespace {

using namespace std::chrono_literals;

using places = std::vector<endpoint>;

/// A lookup that hangs until it is let go.
struct slow_lookup {
  struct state {
    std::promise<void> go_on;
    std::shared_future<void> going = go_on.get_future().share();
    std::atomic<int> calls = 0;
    places found;
  };
  std::shared_ptr<state> inside = std::make_shared<state>();

  resolver::lookup how() {
    return [in = inside](const std::string&) -> result<places> {
      ++in->calls;
      in->going.wait();
      return in->found;
    };
  }
  ~slow_lookup() { inside->go_on.set_value(); }
};

resolver::lookup always(places known) {
  return [known = std::move(known)](const std::string&) -> result<places> { return known; };
}

/// Where nobody listens.
endpoint closed_place() {
  const auto listening = listen_on("127.0.0.1:0");
  return local_endpoint(listening->get());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(address)

BOOST_AUTO_TEST_CASE(an_address_in_digits_is_not_looked_up) {
  resolver names([](const std::string&) -> result<places> { return error{errc::io, "looked up"}; });
  BOOST_TEST(names.find("127.0.0.1:7001", deadline_in(60s), nullptr)->size() == 1U);
  BOOST_TEST(names.find("[::1]:7001", deadline_in(60s), nullptr)->size() == 1U);
  BOOST_TEST(names.find("name:7001", deadline_in(60s), nullptr).why().what == "looked up");
  BOOST_TEST((names.find("name", deadline_in(60s), nullptr).why().code == errc::malformed));
}

BOOST_AUTO_TEST_CASE(a_lookup_that_hangs_ends_at_the_deadline_and_at_the_alarm) {
  slow_lookup slow;
  resolver names(slow.how());
  const auto late = names.find("far:1", deadline_in(1ms), nullptr);
  BOOST_REQUIRE(!late);
  BOOST_TEST(
      (late.why() == error{errc::timed_out, "address far:1: looking it up: no answer in time"}));
  alarm stop;
  stop.raise();
  const auto stopped = names.find("far:1", deadline_in(60s), &stop);
  BOOST_REQUIRE(!stopped);
  BOOST_TEST(stopped.why().what == "address far:1: looking it up: stopped");
  BOOST_TEST(slow.inside->calls <= 1);  // the thread may not have begun
}

BOOST_AUTO_TEST_CASE(this_machine_has_a_name) {
  const auto found = resolver().find("localhost:7001", deadline_in(60s), nullptr);
  BOOST_REQUIRE(found);
  BOOST_TEST(!found->empty());
}

BOOST_AUTO_TEST_CASE(every_place_of_a_name_is_tried) {
  const auto listening = listen_on("127.0.0.1:0");
  resolver names(always({closed_place(), local_endpoint(listening->get())}));
  BOOST_TEST(static_cast<bool>(connect_to("name:1", deadline_in(60s), nullptr, names)));
  resolver gone(always({closed_place(), closed_place()}));
  const auto made = connect_to("name:1", deadline_in(60s), nullptr, gone);
  BOOST_REQUIRE(!made);
  BOOST_TEST(made.why().what == "cannot connect to name:1: connection refused");
}

BOOST_AUTO_TEST_CASE(a_place_that_swallows_everything_leaves_time_for_the_next) {
  const auto listening = listen_on("127.0.0.1:0");
  const auto full = listen_on("127.0.0.1:0");
  BOOST_REQUIRE(::listen(full->get(), 0) == 0);
  const auto hole = local_endpoint(full->get());
  std::vector<unique_fd> waiting;  // until the kernel takes no more
  while (auto made = connect_to(hole, deadline_in(50ms), nullptr)) {
    waiting.push_back(std::move(*made));
  }
  resolver names(always({hole, local_endpoint(listening->get())}));
  BOOST_TEST(static_cast<bool>(connect_to("name:1", deadline_in(100ms), nullptr, names)));
}

BOOST_AUTO_TEST_CASE(loopback_addresses_are_told_from_others) {
  for (const auto* yes :
       {"127.0.0.1:7001", "127.9.9.9", "localhost:1", "localhost", "[::1]:7001", "::1"}) {
    BOOST_TEST(loopback_only(yes), yes);
  }
  for (const auto* no : {"0.0.0.0:7001", "128.0.0.1:1", "10.0.0.1", "[::]:7001",
                         "::", "example.org", "127.0.0.1.example.org:1", ""}) {
    BOOST_TEST(!loopback_only(no), no);
  }
}

BOOST_AUTO_TEST_CASE(a_peer_of_several_places_is_linked_over_the_one_that_answers) {
  test_threads threads;
  witness at1;
  witness at2;
  const auto net2 = opened({.self = p2, .neighbours = {{p1, ""}}}, at2, threads);
  const auto there = resolver::by_system(net2->address());
  BOOST_REQUIRE(there);
  const auto net1 = opened({.self = p1,
                            .neighbours = {{p2, "name:1"}},
                            .lookup = always({closed_place(), there->front()})},
                           at1, threads);
  BOOST_TEST(at1.wait([&] { return at1.linked.contains(p2); }));
}

BOOST_AUTO_TEST_CASE(a_transport_stops_while_a_name_is_looked_up) {
  test_threads threads;
  witness at;
  slow_lookup slow;
  const auto net =
      opened({.self = p1, .neighbours = {{p2, "far:1"}}, .lookup = slow.how()}, at, threads);
  while (slow.inside->calls == 0) std::this_thread::yield();
  net->stop();
  BOOST_TEST(at.lines().empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::net::tests
