// What carries messages and tensors between a peer and its neighbours, whatever lies beneath: TCP
// (net/tcp), memory (net/loopback) or virtual time (net/sim).
//
// Guarantees  messages to one peer arrive in order or the link breaks; control never waits behind
//             tensors; memory in flight is bounded however slow the receiver is; tensor bytes are
//             sent from where they lie and received into the room that the receiver's owner names.
// Threads     `transport` may be called from any thread and never blocks. `owner` is called from
//             the transport's threads and must not block for long; calls about one link's messages
//             come one at a time and in order.
#pragma once

#include "proto/base/result.hpp"
#include "proto/message.hpp"

#include <cstddef>
#include <span>

namespace perigee::net {

/// What a tensor on its way is: stands before its bytes.
struct tensor_label {
  job_id job;
  std::uint64_t plan_digest = 0;
  tensor_ref what;
  bytes size;  // of the whole tensor
  friend bool operator==(const tensor_label&, const tensor_label&) = default;
};

enum class link_role : std::uint8_t { peer, client };

/// Whom a transport serves.
class owner {
public:
  virtual ~owner() = default;
  virtual void on_linked(peer_id who, link_role role) = 0;
  virtual void on_unlinked(peer_id who, const error& why) = 0;
  virtual void on_heard(peer_id who) = 0;
  virtual void on_message(peer_id from, message what) = 0;
  /// Returns where the tensor's bytes go, `label.size` long, valid until on_arrived or on_unlinked;
  /// empty = drop it.
  virtual std::span<std::byte> room_for(peer_id from, const tensor_label& label) = 0;
  virtual void on_arrived(peer_id from, const tensor_label& label) = 0;
  /// The bytes given to `transmit` are not looked at any more. Also called (first) for what a
  /// broken link leaves unsent.
  virtual void on_transmitted(peer_id to, const tensor_label& label, bool delivered) = 0;
};

struct link_figures {
  bool linked = false;
  duration round_trip{};  // of the newest ping of the connection; 0 = unknown
  bytes sent;
  bytes received;
  bytes queued;  // tensors waiting for credit
};

class transport {
public:
  virtual ~transport() = default;
  /// Fails with `unknown_peer` if there is no link, `exhausted` if too much waits already or the
  /// frame is too large.
  virtual result<void> send(peer_id to, const message& what) = 0;
  /// `data` must stay valid and unchanged until on_transmitted.
  virtual result<void> transmit(peer_id to, const tensor_label& label,
                                std::span<const std::byte> data) = 0;
  virtual void close(peer_id who) = 0;
  [[nodiscard]] virtual link_figures figures(peer_id who) const = 0;
  /// Frames dropped so far because they were malformed, oversized or not expected.
  [[nodiscard]] virtual std::uint64_t dropped() const = 0;
};

}  // namespace perigee::net
