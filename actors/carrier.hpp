// Between a transport and the peer: what a link reports becomes an event, and tensors are lent from
// and to executors.
//
// Guarantees  an executor outlives every transfer that reads or writes its tensors.
// Threads     any; the transport calls it from its own.
#pragma once

#include "actors/shelf.hpp"
#include "net/transport.hpp"
#include "planner/action.hpp"
#include "planner/event.hpp"

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

namespace perigee::actors {

class carrier final : public net::owner {
public:
  using post = std::function<void(planner::event)>;

  carrier(const shelf& executors, post to_peer);

  /// Must be called once, before anything is sent.
  void use(net::transport& links) { links_ = &links; }

  /// A message that cannot be queued breaks the link: the machines rely on messages that arrive in
  /// order or not at all.
  result<void> send(peer_id to, const message& what);
  /// Lends the tensor's bytes to the link.
  result<void> transmit(const planner::transmit& what);
  void close(peer_id who) { links_->close(who); }

  void on_linked(peer_id who, net::link_role role) override;
  void on_unlinked(peer_id who, const error& why) override;
  void on_heard(peer_id who) override;
  void on_message(peer_id from, message what) override;
  std::span<std::byte> room_for(peer_id from, const net::tensor_label& label) override;
  void on_arrived(peer_id from, const net::tensor_label& label) override;
  void on_transmitted(peer_id to, const net::tensor_label& label, bool delivered) override;

private:
  enum class direction : std::uint8_t { in, out };
  using loan = std::tuple<peer_id, direction, job_id, std::uint64_t, tensor_ref>;

  bool is_client(peer_id who);
  void lend(loan what, std::shared_ptr<executor> from);
  std::shared_ptr<executor> returned(const loan& what);

  const shelf& executors_;
  post post_;
  net::transport* links_ = nullptr;
  std::mutex lock_;
  std::set<peer_id> clients_;  // they may ask for tensors, not give any
  std::multimap<loan, std::shared_ptr<executor>> loans_;
};

}  // namespace perigee::actors
