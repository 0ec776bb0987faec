#include "net/tcp/socket.hpp"

#include "net/tcp/address.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/socket.h>

#include <array>
#include <thread>
#include <vector>

namespace perigee::net::tests {

namespace {

real_time in(duration patience) { return std::chrono::steady_clock::now() + patience; }

using namespace std::chrono_literals;

}  // namespace

BOOST_AUTO_TEST_SUITE(socket)

BOOST_AUTO_TEST_CASE(an_address_in_use_is_named_and_the_way_out_too) {
  const auto first = listen_on("127.0.0.1:0");
  BOOST_REQUIRE(first);
  const auto address = local_address(first->get());
  const auto second = listen_on(address);
  BOOST_REQUIRE(!second);
  BOOST_TEST(second.why().what ==
             "cannot listen on " + address + ": address already in use; choose another --listen");
}

BOOST_AUTO_TEST_CASE(an_address_without_host_or_port_is_refused) {
  for (const std::string bad : {"7001", "127.0.0.1", ":7001", "127.0.0.1:", "127.0.0.1:65536",
                                "127.0.0.1:70x", "::1:7001"}) {
    const auto made = listen_on(bad);
    BOOST_REQUIRE(!made);
    BOOST_TEST(made.why().what ==
               "cannot listen on address " + bad + ": expected host:port, e.g. 127.0.0.1:7001");
  }
}

BOOST_AUTO_TEST_CASE(an_address_of_another_machine_cannot_be_listened_on) {
  const auto made = listen_on("192.0.2.1:7001");
  BOOST_REQUIRE(!made);
  BOOST_TEST(made.why().what == "cannot listen on 192.0.2.1:7001: cannot assign requested address");
}

BOOST_AUTO_TEST_CASE(nobody_listening_is_told_at_once) {
  std::string address;
  {
    const auto gone = listen_on("127.0.0.1:0");
    address = local_address(gone->get());
  }
  const auto made = connect_to(address, in(30s), nullptr);
  BOOST_REQUIRE(!made);
  BOOST_TEST(made.why().what == "cannot connect to " + address + ": connection refused");
}

BOOST_AUTO_TEST_CASE(a_raised_alarm_ends_a_wait) {
  const auto listening = listen_on("127.0.0.1:0");
  const auto fd = connect_to(local_address(listening->get()), in(30s), nullptr);
  BOOST_REQUIRE(fd);
  alarm stop;
  std::jthread raiser([&] { stop.raise(); });
  std::array<std::byte, 1> into{};
  const auto read = read_until(fd->get(), into, real_time::max(), &stop);
  BOOST_REQUIRE(!read);
  BOOST_TEST(read.why().what == "stopped");
  BOOST_TEST(stop.raised());
}

BOOST_AUTO_TEST_CASE(a_wait_ends_at_its_deadline) {
  const auto listening = listen_on("127.0.0.1:0");
  const auto fd = connect_to(local_address(listening->get()), in(30s), nullptr);
  BOOST_REQUIRE(fd);
  std::array<std::byte, 1> into{};
  const auto read = read_until(fd->get(), into, in(1ms), nullptr);
  BOOST_REQUIRE(!read);
  BOOST_TEST((read.why().code == errc::timed_out));
}

BOOST_AUTO_TEST_CASE(writing_to_a_closed_connection_is_an_error_and_no_signal) {
  std::array<int, 2> ends{};
  BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
  const unique_fd here(ends[0]);
  { const unique_fd there(ends[1]); }
  const std::vector<std::byte> data(16);
  const auto written = write_all(here.get(), data);
  BOOST_REQUIRE(!written);
  BOOST_TEST(written.why().what == "closed by peer");
  BOOST_TEST(!write_some(here.get(), data));
}

BOOST_AUTO_TEST_CASE(large_ranges_pass_whole_in_both_parts) {
  std::array<int, 2> ends{};
  BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
  const unique_fd here(ends[0]);
  const unique_fd there(ends[1]);
  const std::vector<std::byte> head(100'000, std::byte{1});
  const std::vector<std::byte> body(3'000'000, std::byte{2});
  std::jthread writer([&] { (void)write_all(here.get(), head, body); });
  std::vector<std::byte> got(head.size() + body.size());
  BOOST_REQUIRE(read_exactly(there.get(), got));
  BOOST_TEST((std::vector(got.begin(), got.begin() + 100'000) == head));
  BOOST_TEST((std::vector(got.begin() + 100'000, got.end()) == body));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::net::tests
