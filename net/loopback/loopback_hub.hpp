// Links in memory: several transports of one process, joined by a hub. For tests and for embedding.
//
// Messages go through the codec, as they would over a wire. The hub delivers one thing at a time:
// by `pump`, which makes a test deterministic, or by a loop of its own.
//
// Guarantees  those of `transport`; what waits is delivered in one fixed order: messages and
// changes
//             of links in the order in which they were sent, tensors when no message waits.
// Requires    the hub outlives its transports; no transport is destroyed, and `join` not called,
//             while the hub delivers.
// Threads     any; owners are called from the one that pumps.
#pragma once

#include "net/crew.hpp"
#include "net/transport.hpp"

#include <memory>

namespace perigee::net {

class loopback_hub {
public:
  loopback_hub();
  ~loopback_hub();

  /// Returns the transport of a new member, which has no links yet.
  std::unique_ptr<transport> join(peer_id self, owner& serves, link_role role = link_role::peer);

  /// Links two members, if they are not linked.
  void connect(peer_id a, peer_id b);
  void disconnect(peer_id a, peer_id b, const error& why);

  /// Delivers one message, tensor or change of a link; false: nothing waits.
  bool pump();

  /// Pumps on a thread of the spawner until `stop`.
  void serve(spawner spawn);
  void stop();

private:
  struct parts;
  class port;
  std::unique_ptr<parts> parts_;
};

}  // namespace perigee::net
