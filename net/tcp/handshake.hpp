// The greeting: the first frame each way on each connection of a link, and who is let in.
//
//   dialer   --hello(control, nonce)-->   listener     both connections carry the same nonce,
//            <--hello(control, nonce)--                which pairs them
//            --hello(bulk, nonce)-->
//            <--hello(bulk, nonce)--                   now there is a link
//
// Of two peers the one with the lower id dials; clients always dial. Who is refused is not
// answered: the connection closes.
//
// Threads  none.
#pragma once

#include "net/tcp/frame.hpp"
#include "net/transport.hpp"
#include "proto/codec.hpp"

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace perigee::net {

/// Who greets.
struct caller {
  peer_id self;
  std::uint64_t incarnation = 0;
  link_role role = link_role::peer;
  std::string name;  // for people
};

[[nodiscard]] hello greeting(const caller& us, hello_channel channel, std::uint64_t nonce);
[[nodiscard]] link_role role_of(const hello& theirs) noexcept;

[[nodiscard]] std::vector<std::byte> greeting_frame(const hello& what);

/// Fails with `malformed` if the payload is none of ours, with `unsupported` if no protocol
/// version is common.
result<hello> decoded_greeting(std::span<const std::byte> payload);

struct guest_list {
  peer_id self;
  std::set<peer_id> neighbours;
  bool accept_unknown = false;
};

/// Says why the sender of `theirs` may not link to us.
result<void> admitted(const guest_list& list, const hello& theirs);

/// Returns 64 random bits of the operating system.
[[nodiscard]] std::uint64_t drawn_nonce();

}  // namespace perigee::net
