// The transport over TCP: two connections to each neighbour, CONTROL and BULK, and four loops a
// link.
//
// The peer with the lower id dials, again and again with capped back-off; the other listens.
// CONTROL carries messages and credits in small frames, BULK tensors in chunks: control never waits
// behind a tensor, because it has a connection and threads of its own. A tensor is sent from its
// own bytes and received into its own room; what is under way is bounded by the credit its receiver
// granted. TLS comes in between greeting and frames later (`channels` is the place). Beyond some 64
// links one epoll thread may replace a thread a connection, behind the same interface.
//
// Guarantees  those of `transport`; `stop` (and the destructor) ends every loop promptly; whatever
//             comes in at the port, the process lives.
// Requires    owner callbacks must not call `stop`; they may call everything else.
// Threads     any. All loops are run by the spawner.
#pragma once

#include "net/crew.hpp"
#include "net/limits.hpp"
#include "net/tcp/acceptor.hpp"
#include "net/tcp/address.hpp"
#include "net/tcp/link.hpp"
#include "net/transport.hpp"

#include <memory>
#include <string>
#include <vector>

namespace perigee::net {

struct tcp_neighbour {
  peer_id peer;
  std::string address;  // host:port; not looked at if it is the neighbour that dials
};

struct tcp_config {
  peer_id self;
  std::uint64_t incarnation = 0;
  std::string name;                            // for people
  std::string listen_address = "127.0.0.1:0";  // port 0: any
  std::vector<tcp_neighbour> neighbours;
  bytes pool{limits::pool_default};  // what all links together may have under way towards us
  bool accept_unknown = false;       // peers that are not in `neighbours`
  bool held = false;                 // nobody is dialled or accepted before `start`
  duration connect_patience = limits::connect_patience;     // of one attempt to link
  duration greeting_patience = limits::handshake_patience;  // with who connects
  resolver::lookup lookup = resolver::by_system;            // of neighbours' names
  spawner spawn;
};

class tcp_transport final : public transport {
public:
  /// Fails if the address is malformed or cannot be listened on. Links come up by themselves: the
  /// owner may be called before this returns, unless `held`.
  static result<std::unique_ptr<tcp_transport>> open(tcp_config config, owner& serves);
  ~tcp_transport() override;

  result<void> send(peer_id to, const message& what) override;
  result<void> transmit(peer_id to, const tensor_label& label,
                        std::span<const std::byte> data) override;
  /// The link breaks; a neighbour we dial is dialled again.
  void close(peer_id who) override;
  [[nodiscard]] link_figures figures(peer_id who) const override;
  [[nodiscard]] std::uint64_t dropped() const override;

  /// Returns host:port it really listens on.
  [[nodiscard]] std::string address() const;

  /// Begins to dial and accept; only after an `open` that was `held`, once.
  void start();

  /// Shuts all connections and returns when every loop has ended; on_unlinked is told for each
  /// link.
  void stop();

private:
  struct parts;
  explicit tcp_transport(std::unique_ptr<parts> p);
  std::unique_ptr<parts> parts_;
};

}  // namespace perigee::net
