// The listening side: takes connections, reads their greetings, and pairs them into links.
//
// Guarantees  a connection that says nothing, too little or nonsense is closed and counted, and
//             holds a descriptor for `patience` at most; when too many are half open the
//             oldest goes first, so that silent strangers cannot keep a neighbour out. What came in
//             time counts, however late this thread gets to look at it.
// Threads     `loop` in one thread.
#pragma once

#include "net/tcp/address.hpp"
#include "net/tcp/handshake.hpp"
#include "net/tcp/link.hpp"
#include "net/tcp/socket.hpp"

#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <vector>

namespace perigee::net {

class acceptor {
public:
  struct hooks {
    std::function<result<void>(const hello& theirs)> judge;
    std::function<void(const hello& theirs, channels sockets)> take;
    std::function<real_time()> now = std::chrono::steady_clock::now;
  };

  /// A connection has `patience` to become half a link.
  acceptor(unique_fd listening, caller us, hooks to, duration patience,
           std::atomic<std::uint64_t>& dropped);

  /// Returns when `stop` is raised.
  void loop(const alarm& stop);

  [[nodiscard]] std::string address() const { return local_address(listening_.get()); }

private:
  /// A connection on its way to be half a link.
  struct half_open {
    unique_fd fd;
    real_time deadline;
    std::vector<std::byte> data;   // of its greeting, so far
    std::size_t wanted = 0;        // how long that will be, as far as is known
    std::optional<hello> control;  // greeted: waits for the bulk connection of the same nonce
  };
  using place = std::list<half_open>::iterator;

  void look_at(const pollfd& ready);
  void accept_all();
  /// Reads what a connection has to say; false: it is to be closed.
  bool advance(place who);
  static result<std::size_t> read_more(half_open& who);
  bool greet(place who);
  bool pair_up(place bulk, const hello& theirs);
  bool answer(int fd, const hello& theirs);
  void drop(place who);
  void expire(real_time now);
  [[nodiscard]] std::vector<pollfd> watched(const alarm& stop) const;
  [[nodiscard]] int patience_ms() const;

  unique_fd listening_;
  const caller us_;
  const hooks to_;
  const duration patience_;
  std::atomic<std::uint64_t>& dropped_;
  std::list<half_open> waiting_;  // oldest first
  real_time resting_until_{};     // after the system had no descriptor for us
};

}  // namespace perigee::net
