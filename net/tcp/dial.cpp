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

/// Connects one channel and exchanges greetings on it.
result<std::pair<unique_fd, hello>> greeted(const attempt& call, hello_channel channel) {
  auto fd = connect_to(call.address, call.deadline, call.stop);
  if (!fd) return fd.why();
  const auto failed = [&](const error& why) {
    return error{why.code, "greeting " + call.address + ": " + why.what};
  };
  const auto ours = greeting(call.us, channel, call.nonce);
  // A greeting fits the empty buffer of a new connection: this does not wait.
  if (auto sent = write_all(fd->get(), greeting_frame(ours)); !sent) return failed(sent.why());
  auto theirs = answer(fd->get(), call);
  if (!theirs) return failed(theirs.why());
  if (theirs->nonce != call.nonce || theirs->channel != channel || theirs->peer == peer_id{}) {
    return failed({errc::malformed, "it answers another greeting"});
  }
  return std::pair(std::move(*fd), *theirs);
}

}  // namespace

result<dialled> dial(const caller& us, const std::string& address, real_time deadline,
                     const alarm* stop) {
  const attempt call{us, address, deadline, stop, drawn_nonce()};
  auto control = greeted(call, hello_channel::control);
  if (!control) return control.why();
  auto bulk = greeted(call, hello_channel::bulk);
  if (!bulk) return bulk.why();
  if (bulk->second.peer != control->second.peer) {
    return error{errc::malformed, "greeting " + address + ": two peers answer at one address"};
  }
  return dialled{{std::move(control->first), std::move(bulk->first)}, control->second};
}

}  // namespace perigee::net
