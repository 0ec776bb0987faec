// A swarm of local processes for a test bed: one `perigee node` a peer, on loopback ports of its
// own.
#pragma once

#include "actors/cli/child.hpp"
#include "actors/cli/signals.hpp"
#include "net/tcp/client.hpp"
#include "proto/message.hpp"

#include <set>
#include <string>
#include <vector>

namespace perigee::actors {

struct swarm_options {
  std::uint32_t peers = 4;
  std::uint32_t workers = 1;
  bytes memory{std::uint64_t{4} << 30U};
  std::string isa;     // cap of the peers' kernels; empty = none
  std::string folder;  // for the peers file and the logs
};

class testbed_swarm {
public:
  /// Starts the processes and waits until the first answers. Fails with the end of the log of a
  /// process that ended, or with `unavailable` if a signal comes first.
  static result<testbed_swarm> start(const swarm_options& options, const signals& stop);

  [[nodiscard]] net::client& first() noexcept { return *first_; }
  /// Fails with the name, exit code and last lines of a peer that has ended.
  result<void> check();
  /// Ends a peer's process at once (SIGKILL), without a word; `check` does not miss it. Fails if
  /// there is no such peer.
  result<void> kill(peer_id who);
  /// Ends all processes.
  void stop();

private:
  testbed_swarm() = default;
  result<void> spawn(const swarm_options& options);
  result<void> reach(const signals& stop);

  std::vector<peer_record> peers_;
  std::vector<child> processes_;
  std::set<peer_id> killed_;
  std::unique_ptr<net::client> first_;
};

}  // namespace perigee::actors
