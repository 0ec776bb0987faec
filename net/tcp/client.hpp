// A client of one peer: what the command line speaks through. One call at a time, each with a
// deadline; no threads.
//
// Guarantees  pings are answered while a call waits; a call that timed out loses nothing of the
//             messages that come later (a tensor it waited for is lost, and the connection with
//             it). A raised alarm ends any wait with `unavailable`. A message of a kind we do not
//             know is skipped; what breaks the rules ends the connection, and every later call says
//             so. Nothing is allocated for a frame or a tensor of a size that is not allowed.
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

  /// Returns how many messages of a kind we do not know, and tensors nobody asked for, came.
  [[nodiscard]] std::uint64_t dropped() const;

  /// Returns when the kernel has all of it. At the deadline the rest waits, and goes while a later
  /// call does.
  result<void> tell(const message& what, real_time deadline);
  /// Sends and returns the next message that comes.
  result<message> ask(const message& what, real_time deadline);
  result<message> next(real_time deadline);

  /// Returns the bytes of a tensor; `unavailable` with the peer's reason when it answers with
  /// `missing`, `malformed` when it has another size. Job, tensor and size must be those of
  /// `expected`, its plan digest does not count. Messages that come meanwhile wait for `next`.
  result<std::vector<std::byte>> receive_tensor(const tensor_label& expected, real_time deadline);

private:
  struct parts;
  explicit client(std::unique_ptr<parts> p);
  std::unique_ptr<parts> parts_;
};

}  // namespace perigee::net
