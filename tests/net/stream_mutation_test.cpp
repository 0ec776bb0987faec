// Valid streams of either connection, damaged in ten thousand seeded ways: a reader refuses or
// reads, and what it reads is whole. Under the sanitizers this is a search for memory errors.
#include "net/limits.hpp"
#include "net/tcp/bulk_receiver.hpp"
#include "net/tcp/frame.hpp"
#include "proto/base/random.hpp"
#include "proto/digest.hpp"
#include "tests/net/witness.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

namespace perigee::net::tests {

namespace {

using stream = std::vector<std::byte>;

constexpr std::uint64_t mutations = 10'000;

void append(stream& to, std::span<const std::byte> more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// Damages a stream of at least one byte.
void mutate(stream& data, random& draw) {
  const auto place = [&] { return static_cast<std::ptrdiff_t>(draw.below(data.size())); };
  const auto at = place();
  const auto rest = static_cast<std::uint64_t>(std::ssize(data) - at);
  const auto end =
      at + static_cast<std::ptrdiff_t>(1 + draw.below(std::min<std::uint64_t>(rest, 200)));
  switch (draw.below(5)) {
    case 0:
      data[static_cast<std::size_t>(at)] ^= static_cast<std::byte>(1U << draw.below(8));
      return;
    case 1:
      data[static_cast<std::size_t>(at)] = static_cast<std::byte>(draw.below(2) * 255);
      return;
    case 2:
      data.resize(static_cast<std::size_t>(at) + 1);
      return;
    case 3: {
      const stream piece(data.begin() + at, data.begin() + end);
      data.insert(data.begin() + place(), piece.begin(), piece.end());
      return;
    }
    default:
      if (std::ssize(data) > end - at) data.erase(data.begin() + at, data.begin() + end);
  }
}

/// Returns a copy of just the right size, so that a read beyond the end is seen.
stream mutated(const stream& valid, std::uint64_t seed) {
  random draw(seed, purpose::simulation, 7);
  stream data = valid;
  for (auto left = 1 + draw.below(3); left > 0; --left) mutate(data, draw);
  return {data.begin(), data.end()};
}

byte_source reading(std::span<const std::byte>& from) {
  return [&from](std::span<std::byte> into) -> result<void> {
    if (into.size() > from.size()) return error{errc::unavailable, "closed by peer"};
    std::copy_n(from.begin(), into.size(), into.begin());
    from = from.subspan(into.size());
    return {};
  };
}

struct tensor {
  tensor_label label;
  std::vector<std::byte> data;
};

stream chunk_of(const tensor& what, std::uint64_t offset, std::uint32_t length) {
  const auto part = std::span(what.data).subspan(offset, length);
  const chunk_header header{
      what.label.job, what.label.plan_digest, what.label.what, what.label.size, offset,
      length,         checksum_of(part)};
  stream made = framed(frame_kind::chunk, encoded(header).view());
  append(made, part);
  return made;
}

/// A receiver of one stream; its rooms are as large as their tensors and no larger.
struct receiving {
  std::span<const std::byte> left;
  std::array<std::vector<std::byte>, tensor_class_count> rooms;
  std::vector<tensor> arrived;
  bulk_receiver receiver{{100'000},
                         {reading(left),
                          [this](const tensor_label& l) -> std::span<std::byte> {
                            BOOST_REQUIRE((0 < l.size.count && l.size.count <= limits::tensor_max));
                            if (l.size.count > 100'000) return {};
                            return rooms[class_of(l.what)] = std::vector<std::byte>(l.size.count);
                          },
                          [this](const tensor_label& l) {
                            arrived.push_back({l, rooms[class_of(l.what)]});
                          },
                          [] {}, [](bytes) {}}};

  explicit receiving(const stream& from) : left(from) {
    while (receiver.read_chunk()) {}
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(stream_mutation)

BOOST_AUTO_TEST_CASE(a_tensor_of_a_damaged_stream_is_whole_or_never_arrives) {
  const tensor urgent{label_of(1, 3000), pattern(3000, 1)};
  const tensor large{label_of(2, 700, tensor_kind::state), pattern(700, 2)};
  stream valid;
  append(valid, chunk_of(large, 0, 400));
  for (const std::uint64_t offset : {0, 1000, 2000}) append(valid, chunk_of(urgent, offset, 1000));
  append(valid, chunk_of(large, 400, 300));
  BOOST_REQUIRE(receiving(valid).arrived.size() == 2U);
  std::uint64_t whole = 0;
  for (std::uint64_t seed = 0; seed < mutations; ++seed) {
    const auto data = mutated(valid, seed);
    for (const auto& got : receiving(data).arrived) {
      for (const auto* sent : {&urgent, &large}) {
        if (got.label == sent->label) BOOST_REQUIRE((got.data == sent->data));
      }
      ++whole;
    }
  }
  BOOST_TEST(whole > 0U);
  BOOST_TEST(whole < 2 * mutations);
}

BOOST_AUTO_TEST_CASE(damaged_control_frames_are_refused_or_read_within_bounds) {
  stream valid;
  append(valid, framed(frame_kind::credit, encoded(credit{12'345})));
  append(valid, framed(frame_kind::message, encoded(ping{7})));
  append(valid, framed(frame_kind::message, encoded(remark{{}, "we wait for p2"})));
  std::uint64_t read = 0;
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 0; seed < mutations; ++seed) {
    const auto data = mutated(valid, seed);
    std::span<const std::byte> left(data);
    const auto source = reading(left);
    while (const auto next = read_control_frame(source)) {
      BOOST_REQUIRE((0 < next->payload.size() && next->payload.size() <= data.size()));
      const bool fine = next->kind == frame_kind::message
                            ? static_cast<bool>(decoded(next->payload))
                            : static_cast<bool>(decoded_credit(next->payload));
      ++(fine ? read : refused);
    }
  }
  BOOST_TEST(read > mutations);
  BOOST_TEST(refused > 1000U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::net::tests
