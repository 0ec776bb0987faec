// One link: the two connections to one neighbour or client, and the four loops that serve them.
//
// Guarantees  on_linked comes first; a broken link gives back every tensor, then says on_unlinked
//             once, when none of its loops runs any more: nobody touches the owner's bytes after.
// Threads     any.
#pragma once

#include "net/crew.hpp"
#include "net/tcp/bulk_receiver.hpp"
#include "net/tcp/bulk_sender.hpp"
#include "net/tcp/control_channel.hpp"
#include "net/tcp/socket.hpp"
#include "net/transport.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace perigee::net {

struct link_terms {
  peer_id peer;
  std::uint64_t incarnation = 0;
  link_role role = link_role::peer;
  bytes window;  // what the peer may have under way towards us
};

struct channels {
  unique_fd control;
  unique_fd bulk;
};

class link : public std::enable_shared_from_this<link> {
public:
  /// Serves `to`; counts what it drops in `dropped`. Both outlive the link.
  link(link_terms terms, channels sockets, owner& to, std::atomic<std::uint64_t>& dropped);

  /// Starts the loops; `ended` is called last, after on_unlinked.
  void start(crew& runners, std::function<void()> ended);

  result<void> send(const message& what);
  result<void> transmit(const tensor_label& label, std::span<const std::byte> data);
  /// Breaks the link: the first reason given is the one that counts. Does not wait.
  void close(error why);

  [[nodiscard]] const link_terms& terms() const noexcept { return terms_; }
  [[nodiscard]] link_figures figures() const;

private:
  byte_source source_of(int fd);
  void read_control(crew& runners);
  result<void> take(const frame& what);
  result<void> take_message(std::span<const std::byte> payload);
  void note_ping(const message& what);
  void note_pong(const message& what);
  void heard();
  void leave();
  void conclude();

  const link_terms terms_;
  const channels sockets_;
  owner& owner_;
  std::atomic<std::uint64_t>& dropped_;
  control_channel control_;
  bulk_sender sender_;
  bulk_receiver receiver_;
  std::function<void()> ended_;
  std::atomic<int> loops_{0};
  std::atomic<std::int64_t> heard_at_{0};
  std::atomic<std::uint64_t> control_received_{0};
  std::atomic<std::uint64_t> control_sent_{0};
  mutable std::mutex lock_;  // of what follows
  std::optional<error> broken_;
  std::uint64_t ping_count_ = 0;
  std::chrono::steady_clock::time_point ping_at_{};
  duration round_trip_{};
};

}  // namespace perigee::net
