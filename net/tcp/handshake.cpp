#include "net/tcp/handshake.hpp"

#include <random>
#include <string>

namespace perigee::net {

hello greeting(const caller& us, hello_channel channel, std::uint64_t nonce) {
  hello made;
  made.peer = us.self;
  made.incarnation = us.incarnation;
  made.role = us.role == link_role::client ? hello_role::client : hello_role::peer;
  made.channel = channel;
  made.nonce = nonce;
  made.name = us.name;
  return made;
}

link_role role_of(const hello& theirs) noexcept {
  return theirs.role == hello_role::client ? link_role::client : link_role::peer;
}

std::vector<std::byte> greeting_frame(const hello& what) {
  return framed(frame_kind::hello, encoded(what));
}

result<hello> decoded_greeting(std::span<const std::byte> payload) {
  auto theirs = decoded_hello(payload);
  if (!theirs) return error{errc::malformed, "malformed greeting: " + theirs.why().what};
  if (auto version = agreed_version(hello{}, *theirs); !version) return version.why();
  return theirs;
}

result<void> admitted(const guest_list& list, const hello& theirs) {
  const auto refused = [&](errc code, const char* why) {
    return error{code, "link from " + text(theirs.peer) + ": " + why};
  };
  if (theirs.peer == peer_id{}) return refused(errc::malformed, "it has no identity");
  if (theirs.peer == list.self) return refused(errc::malformed, "it has our own identity");
  const bool listed = list.neighbours.contains(theirs.peer);
  if (theirs.role == hello_role::client) {
    if (listed) return refused(errc::malformed, "a client with the identity of a peer");
    return {};
  }
  if (!listed && !list.accept_unknown) return refused(errc::unknown_peer, "nobody of that name");
  // Else two links would cross and both ends drop one of them.
  if (theirs.peer > list.self) return refused(errc::malformed, "the lower id dials");
  return {};
}

std::uint64_t drawn_nonce() {
  std::random_device source;
  return (std::uint64_t{source()} << 32U) | source();
}

}  // namespace perigee::net
