// Dialling: from an address to the two greeted connections of a link.
//
// Guarantees  ends at the deadline, or when the alarm is raised, however the other side behaves;
//             both connections go to one place, even where the name has several.
// Threads     any; blocks.
#pragma once

#include "net/tcp/address.hpp"
#include "net/tcp/handshake.hpp"
#include "net/tcp/link.hpp"
#include "net/tcp/socket.hpp"

#include <string>

namespace perigee::net {

struct dialled {
  channels sockets;
  hello theirs;
};

/// `stop` may be null. Fails as `connect_to` does, and with `malformed` if what answers is no peer.
result<dialled> dial(const caller& us, const std::string& address, real_time deadline,
                     const alarm* stop, resolver& names);

}  // namespace perigee::net
