#include "net/tcp/dial.hpp"

#include "net/limits.hpp"

#include <array>
#include <utility>

namespace perigee::net {

namespace {

struct attempt {
  const caller& us;
  const std::string& address;
  real_time deadline;
  const alarm* stop;
  std::uint64_t nonce;
};

result<hello> answer(int fd, const attempt& call) {
  frame_prefix prefix{};
  if (auto got = read_until(fd, prefix, call.deadline, call.stop); !got) return got.why();
  const auto size = announced(prefix, frame_kind::hello, limits::hello_max);
  if (!size) return size.why();
  std::array<std::byte, limits::hello_max> payload;
  const auto part = std::span(payload).first(*size);
  if (auto got = read_until(fd, part, call.deadline, call.stop); !got) return got.why();
  return decoded_greeting(part);
}

/// Exchanges greetings on a new connection.
result<hello> greeted(int fd, const attempt& call, hello_channel channel) {
  const auto failed = [&](const error& why) {
    return error{why.code, "greeting " + call.address + ": " + why.what};
  };
  const auto ours = greeting(call.us, channel, call.nonce);
  // A greeting fits the empty buffer of a new connection: this does not wait.
  if (auto sent = write_all(fd, greeting_frame(ours)); !sent) return failed(sent.why());
  auto theirs = answer(fd, call);
  if (!theirs) return failed(theirs.why());
  if (theirs->nonce != call.nonce || theirs->channel != channel || theirs->peer == peer_id{}) {
    return failed({errc::malformed, "it answers another greeting"});
  }
  return theirs;
}

}  // namespace

result<dialled> dial(const caller& us, const std::string& address, real_time deadline,
                     const alarm* stop, resolver& names) {
  const attempt call{us, address, deadline, stop, drawn_nonce()};
  auto control = connect_to(address, deadline, stop, names);
  if (!control) return control.why();
  auto theirs = greeted(control->get(), call, hello_channel::control);
  if (!theirs) return theirs.why();
  auto bulk = connect_to(remote_endpoint(control->get()), deadline, stop);
  if (!bulk) return error{bulk.why().code, "cannot connect to " + address + ": " + bulk.why().what};
  const auto again = greeted(bulk->get(), call, hello_channel::bulk);
  if (!again) return again.why();
  if (again->peer != theirs->peer) {
    return error{errc::malformed, "greeting " + address + ": two peers answer at one address"};
  }
  return dialled{{std::move(*control), std::move(*bulk)}, std::move(*theirs)};
}

}  // namespace perigee::net
