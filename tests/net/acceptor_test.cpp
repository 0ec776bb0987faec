#include "net/tcp/acceptor.hpp"

#include "tests/net/witness.hpp"

#include <boost/test/unit_test.hpp>

#include <future>
#include <thread>

namespace perigee::net::tests {

namespace {

using namespace std::chrono_literals;

unique_fd connected_to(const std::string& address) {
  auto made = connect_to(address, deadline_in(60s), nullptr);
  CHECK(made);
  return std::move(*made);
}

void say(const unique_fd& fd, hello_channel channel, std::uint64_t nonce) {
  const caller us{{77}, 1, link_role::client, ""};
  CHECK(write_all(fd.get(), greeting_frame(greeting(us, channel, nonce))));
}

/// Waits until what was said is answered: then all who connected before are in, too.
void hear(const unique_fd& fd) {
  std::array<std::byte, 1> answer{};
  CHECK(read_until(fd.get(), answer, deadline_in(60s), nullptr));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(acceptor)

BOOST_AUTO_TEST_CASE(what_came_in_time_is_in_time_however_late_we_look) {
  std::atomic<real_time> now = real_time{};
  std::atomic<std::uint64_t> dropped = 0;
  std::promise<void> busy;
  std::promise<void> go_on;
  std::promise<void> linked;
  const auto judge = [&](const hello& theirs) {
    if (theirs.nonce == 9) busy.set_value();
    if (theirs.nonce == 9) go_on.get_future().wait();
    return result<void>{};
  };
  auto listening = listen_on("127.0.0.1:0");
  BOOST_REQUIRE(listening);
  net::acceptor door(std::move(*listening), {p2, 1, link_role::peer, ""},
                     {judge, [&](const hello&, const channels&) { linked.set_value(); },
                      [&] { return now.load(); }},
                     1h, dropped);
  alarm stop;
  std::jthread loop([&] { door.loop(stop); });
  const auto other = connected_to(door.address());
  const auto control = connected_to(door.address());
  say(control, hello_channel::control, 5);
  hear(control);
  say(other, hello_channel::control, 9);  // keeps the loop busy
  busy.get_future().wait();
  const auto bulk = connected_to(door.address());
  say(bulk, hello_channel::bulk, 5);
  now = real_time{} + 2h;
  go_on.set_value();
  BOOST_TEST((linked.get_future().wait_for(60s) == std::future_status::ready));
  stop.raise();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::net::tests
