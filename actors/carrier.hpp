// Between a transport and the peer: what a link reports becomes an event, and tensors are lent from
// and to executors.
//
// Guarantees  an executor outlives every transfer that reads or writes its tensors. A tensor has
//             room only if the plan expects it, of this size and from this peer, and it is not here
//             yet; what has none is dropped, and the first of a link are named in the log. At most
//             `messages_max` messages of a link wait for the peer: beyond that its reader waits,
//             the kernel's buffers fill, and in the end the sender's queue, which breaks the link.
// Threads     any; the transport calls it from its own.
#pragma once

#include "actors/shelf.hpp"
#include "net/transport.hpp"
#include "planner/action.hpp"
#include "planner/event.hpp"

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

namespace perigee::actors {

class carrier final : public net::owner {
public:
  /// Whoever handles a message lets go of its ticket when that is done.
  using ticket = std::shared_ptr<const void>;
  using post = std::function<void(planner::event, ticket)>;
  using log = std::function<void(planner::note)>;
  static constexpr std::size_t messages_max = 128;
  static constexpr std::size_t complaints_max = 8;  // of one link

  carrier(const shelf& executors, post to_peer, log to_people);

  /// Must be called once, before anything is sent.
  void use(net::transport& links) { links_ = &links; }

  /// A message that cannot be queued breaks the link: the machines rely on messages that arrive in
  /// order or not at all. A report that is too large for a frame is cut, and a remark before it
  /// says what was left out.
  result<void> send(peer_id to, const message& what);
  /// Lends the tensor's bytes to the link.
  result<void> transmit(const planner::transmit& what);
  void close(peer_id who) { links_->close(who); }

  /// Fills in what the machine does not know: the figures of each link.
  [[nodiscard]] status_report completed(status_report told) const;

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

  /// What is kept of a neighbour or client while it is linked.
  struct party {
    bool client = false;  // it may ask for tensors, not give any
    std::size_t complaints = 0;
  };
  /// How many messages of whom wait for the peer.
  struct line {
    std::mutex lock;
    std::condition_variable shorter;
    std::map<peer_id, std::size_t> waiting;
  };

  result<void> send_report(peer_id to, const status_report& whole);
  result<standing> place_for(peer_id from, const net::tensor_label& label);
  void complain(peer_id from, const net::tensor_label& label, const std::string& why);
  void lend(loan what, std::shared_ptr<executor> from);
  std::shared_ptr<executor> returned(const loan& what);

  const shelf& executors_;
  post post_;
  log log_;
  net::transport* links_ = nullptr;
  std::shared_ptr<line> line_ = std::make_shared<line>();
  std::mutex lock_;
  std::map<peer_id, party> parties_;
  std::multimap<loan, std::shared_ptr<executor>> loans_;
};

}  // namespace perigee::actors
