#include "net/limits.hpp"
#include "net/tcp/bulk_receiver.hpp"
#include "net/tcp/bulk_sender.hpp"
#include "net/tcp/frame.hpp"
#include "net/tcp/socket.hpp"
#include "proto/digest.hpp"
#include "tests/net/witness.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/socket.h>

#include <array>
#include <string>
#include <thread>

namespace perigee::net::tests {

namespace {

using namespace std::chrono_literals;

struct pipe_ends {
  unique_fd here;
  unique_fd there;
};

pipe_ends connected_pair() {
  std::array<int, 2> ends{};
  CHECK(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
  return {unique_fd(ends[0]), unique_fd(ends[1])};
}

/// A receiver with one room, and what it was told.
struct receiving {
  pipe_ends ends = connected_pair();
  std::vector<std::byte> room;
  std::vector<std::string> lines;
  bulk_receiver receiver;

  explicit receiving(std::size_t room_size, std::uint64_t window = 100'000)
      : room(room_size),
        receiver(
            {window},
            {[this](std::span<std::byte> into) { return read_exactly(ends.there.get(), into); },
             [this](const tensor_label&) { return std::span(room); },
             [this](const tensor_label& l) { lines.push_back("arrived " + text(l.what)); },
             [this] { lines.push_back("dropped"); },
             [this](bytes more) { lines.push_back("grant " + text(more)); }}) {}

  void write(const chunk_header& header, std::span<const std::byte> data) {
    CHECK(write_all(ends.here.get(), framed(frame_kind::chunk, encoded(header).view()), data));
  }
  std::string verdict() {
    const auto read = receiver.read_chunk();
    return read ? "fine" : read.why().what;
  }
};

/// The header of `data` as bytes [offset, …) of a tensor of `size` bytes.
chunk_header header_for(std::span<const std::byte> data, std::uint64_t offset, std::uint64_t size) {
  const auto label = label_of(3, size);
  return {label.job,        label.plan_digest,
          label.what,       label.size,
          offset,           static_cast<std::uint32_t>(data.size()),
          checksum_of(data)};
}

/// How long a chunk is on the wire.
std::size_t framed_size(std::size_t data_size) {
  return prefix_size + encoded(chunk_header{}).size + data_size;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(bulk)

BOOST_AUTO_TEST_CASE(chunks_of_a_tensor_end_up_in_its_room) {
  receiving to(3000);
  const auto data = pattern(3000, 1);
  const auto all = std::span(data);
  to.write(header_for(all.first(1000), 0, 3000), all.first(1000));
  to.write(header_for(all.subspan(1000), 1000, 3000), all.subspan(1000));
  BOOST_TEST(to.verdict() == "fine");
  BOOST_TEST(to.lines.empty());
  BOOST_TEST(to.verdict() == "fine");
  BOOST_TEST(to.lines.size() == 1U);
  BOOST_TEST(to.lines[0] == "arrived activation 3@2 of step 5");
  BOOST_TEST((to.room == data));
}

BOOST_AUTO_TEST_CASE(a_damaged_chunk_breaks_the_link_and_never_arrives) {
  receiving to(1000);
  auto data = pattern(1000, 1);
  const auto header = header_for(data, 0, 1000);
  data[500] ^= std::byte{1};
  to.write(header, data);
  BOOST_TEST(to.verdict() == "malformed chunk: wrong checksum");
  BOOST_TEST(to.lines.empty());
}

BOOST_AUTO_TEST_CASE(a_chunk_that_is_not_the_next_breaks_the_link) {
  const auto data = pattern(1000, 1);
  receiving late(3000);
  late.write(header_for(data, 1000, 3000), data);
  BOOST_TEST(late.verdict() == "malformed chunk: out of order");
  receiving twice(3000);
  twice.write(header_for(data, 0, 3000), data);
  twice.write(header_for(data, 0, 3000), data);
  BOOST_TEST(twice.verdict() == "fine");
  BOOST_TEST(twice.verdict() == "malformed chunk: out of order");
}

BOOST_AUTO_TEST_CASE(another_tensor_in_between_breaks_the_link) {
  receiving to(3000);
  const auto data = pattern(1000, 1);
  to.write(header_for(data, 0, 3000), data);
  auto other = header_for(data, 1000, 3000);
  other.what.index = 4;
  to.write(other, data);
  BOOST_TEST(to.verdict() == "fine");
  BOOST_TEST(to.verdict() == "malformed chunk: out of order");
}

BOOST_AUTO_TEST_CASE(lengths_are_judged_before_a_byte_is_read) {
  const auto verdict_of = [](std::uint64_t size, std::uint64_t offset, std::uint32_t length) {
    receiving to(10);
    chunk_header header = header_for({}, offset, size);
    header.length = length;
    to.write(header, {});  // the bytes themselves never come
    return to.verdict();
  };
  BOOST_TEST(verdict_of(0, 0, 0) == "malformed chunk: a tensor of 0 bytes");
  BOOST_TEST(verdict_of(limits::tensor_max + 1, 0, 1) ==
             "malformed chunk: a tensor of 68719476737 bytes");
  BOOST_TEST(verdict_of(10, 0, 0) == "malformed chunk: 0 bytes");
  BOOST_TEST(verdict_of(100'000'000, 0, 1'048'577) == "malformed chunk: 1048577 bytes");
  BOOST_TEST(verdict_of(200'000, 0, 100'001) == "malformed chunk: more bytes than were granted");
  BOOST_TEST(verdict_of(10, 8, 3).starts_with("malformed chunk: "));
  BOOST_TEST(verdict_of(10, ~std::uint64_t{0}, 3).starts_with("malformed chunk: "));
}

BOOST_AUTO_TEST_CASE(frames_that_are_no_chunks_break_the_link) {
  const auto verdict_of = [](std::span<const std::byte> bytes_sent) {
    receiving to(10);
    CHECK(write_all(to.ends.here.get(), bytes_sent));
    ::shutdown(to.ends.here.get(), SHUT_WR);
    return to.verdict();
  };
  BOOST_TEST(verdict_of(framed(frame_kind::message, {})) == "malformed frame: unexpected kind");
  BOOST_TEST(verdict_of(prefix_of(frame_kind::chunk, 257)) ==
             "malformed frame: 257 bytes announced, 256 allowed");
  BOOST_TEST(verdict_of(prefix_of(frame_kind::chunk, 96)) ==
             "closed by peer in the middle of a frame");
  BOOST_TEST(
      verdict_of(framed(frame_kind::chunk, pattern(96, 1))).starts_with("malformed chunk: "));
  BOOST_TEST(verdict_of({}) == "closed by peer");
}

BOOST_AUTO_TEST_CASE(an_unwanted_tensor_is_read_and_dropped) {
  receiving to(0);
  const auto data = pattern(90'000, 1);
  std::jthread writer([&] { to.write(header_for(data, 0, 90'000), data); });
  BOOST_TEST(to.verdict() == "fine");
  BOOST_TEST(to.lines.size() == 2U);
  BOOST_TEST(to.lines[0] == "dropped");
  BOOST_TEST(to.lines[1] == "grant 87.9 KiB");
}

BOOST_AUTO_TEST_CASE(credit_comes_back_when_a_quarter_of_the_window_is_read) {
  receiving to(30'000);
  const auto data = pattern(10'000, 1);
  for (std::uint64_t offset = 0; offset < 30'000; offset += 10'000) {
    to.write(header_for(data, offset, 30'000), data);
    BOOST_TEST(to.verdict() == "fine");
  }
  BOOST_TEST(to.lines.size() == 2U);
  BOOST_TEST(to.lines[0] == "grant 29.3 KiB");
}

BOOST_AUTO_TEST_CASE(nothing_is_sent_without_credit_and_no_more_than_it) {
  auto ends = connected_pair();
  bulk_sender sender(ends.here.get());
  const auto data = pattern(1'000'000, 1);
  BOOST_REQUIRE(sender.put(label_of(0, data.size()), data));
  BOOST_REQUIRE(sender.grant({60'000}));
  std::jthread writer([&] { (void)sender.write_loop([](const tensor_label&) {}); });
  std::vector<std::byte> got(2 * framed_size(30'000));  // two half windows
  BOOST_REQUIRE(read_exactly(ends.there.get(), got));
  BOOST_TEST(*read_available(ends.there.get(), got) == 0U);
  // The bytes may be here before the writer has counted them.
  while (sender.queued().count > 940'000U) std::this_thread::yield();
  BOOST_TEST(sender.queued().count == 940'000U);
  sender.close();
}

BOOST_AUTO_TEST_CASE(an_activation_overtakes_a_state) {
  auto ends = connected_pair();
  bulk_sender sender(ends.here.get());
  const auto data = pattern(50'000, 1);
  BOOST_REQUIRE(sender.put(label_of(0, data.size(), tensor_kind::state), data));
  BOOST_REQUIRE(sender.put(label_of(1, data.size()), data));
  BOOST_REQUIRE(sender.grant({1'000'000}));
  std::vector<std::string> order;
  std::jthread writer([&] {
    (void)sender.write_loop([&](const tensor_label& l) { order.push_back(text(l.what)); });
  });
  std::vector<std::byte> got(2 * framed_size(data.size()));
  BOOST_REQUIRE(read_exactly(ends.there.get(), got));
  sender.close();
  writer.join();
  BOOST_TEST(order.size() == 2U);
  BOOST_TEST(order[0] == "activation 1@2 of step 5");
}

BOOST_AUTO_TEST_CASE(what_is_left_when_the_link_breaks_is_given_back_once) {
  auto ends = connected_pair();
  bulk_sender sender(ends.here.get());
  const auto data = pattern(100, 1);
  BOOST_REQUIRE(sender.put(label_of(0, 100), data));
  BOOST_REQUIRE(sender.put(label_of(1, 100), data));
  sender.close();
  BOOST_TEST(sender.leftovers().size() == 2U);
  BOOST_TEST(sender.leftovers().empty());
  const auto late = sender.put(label_of(2, 100), data);
  BOOST_REQUIRE(!late);
  BOOST_TEST(late.why().what == "transmit activation 2@2 of step 5: the link is closed");
}

BOOST_AUTO_TEST_CASE(a_sender_refuses_what_cannot_be_a_tensor_or_a_credit) {
  auto ends = connected_pair();
  bulk_sender sender(ends.here.get());
  const auto empty = sender.put(label_of(0, 0), {});
  BOOST_REQUIRE(!empty);
  BOOST_TEST(empty.why().what == "transmit activation 0@2 of step 5: it has no bytes");
  BOOST_TEST(!sender.grant({~std::uint64_t{0}}));
  BOOST_TEST(!sender.grant({std::uint64_t{1} << 41U}));
}

BOOST_AUTO_TEST_CASE(the_queue_of_tensors_is_bounded) {
  auto ends = connected_pair();
  bulk_sender sender(ends.here.get());
  const auto data = pattern(1, 1);
  for (std::uint32_t i = 0; i < limits::transmit_queue_max; ++i) {
    BOOST_REQUIRE(sender.put(label_of(i, 1), data));
  }
  const auto one_more = sender.put(label_of(0, 1), data);
  BOOST_REQUIRE(!one_more);
  BOOST_TEST((one_more.why().code == errc::exhausted));
}

BOOST_AUTO_TEST_CASE(a_chunk_takes_fifty_milliseconds_of_the_measured_rate) {
  rate_meter slow;
  BOOST_TEST(slow.chunk().count == 65'536U);
  for (int i = 0; i < 100; ++i) slow.add({100'000}, 100ms);  // 1 MB/s
  BOOST_TEST(slow.chunk().count > 49'000U);
  BOOST_TEST(slow.chunk().count < 51'000U);
  rate_meter slower;
  slower.add({16'384}, 10s);
  BOOST_TEST(slower.chunk().count == limits::chunk_min);
  rate_meter fast;
  fast.add({65'536}, 10us);
  BOOST_TEST(fast.chunk().count == limits::chunk_max);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::net::tests
