// A client of one peer: what the command line speaks through. One call at a time, each with a
// deadline; no threads.
//
// Guarantees  pings are answered while a call waits; a call that timed out loses nothing of the
//             messages that come later (a tensor it waited for is lost, and the connection with
//             it). A raised alarm ends any wait with `unavailable`.
// Threads     one.
#pragma once

#include "net/tcp/socket.hpp"
#include "net/transport.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace perigee::net {

class client {
public:
  /// Fails with `io` if nobody listens there, `timed_out` at the deadline, `malformed` or
  /// `unavailable` if what answers is no peer or lets no client in. `stop` outlives the client;
  /// it may be null.
  static result<client> connect(const std::string& address, real_time deadline,
                                const alarm* stop = nullptr);
  client(client&&) noexcept;
  client& operator=(client&&) noexcept;
  ~client();

  /// Returns who answers at the address.
  [[nodiscard]] peer_id peer() const;

  result<void> tell(const message& what);
  /// Sends and returns the next message that comes.
  result<message> ask(const message& what, real_time deadline);
  result<message> next(real_time deadline);

  /// Returns the bytes of a tensor, or `unavailable` with the peer's reason when it answers with
  /// `missing`. Job and tensor must be those of `expected`; its plan digest does not count, nor
  /// does a size of 0. Messages that come meanwhile wait for `next`.
  result<std::vector<std::byte>> receive_tensor(const tensor_label& expected, real_time deadline);

private:
  struct parts;
  explicit client(std::unique_ptr<parts> p);
  std::unique_ptr<parts> parts_;
};

}  // namespace perigee::net
