// One whole peer: the machines of this folder, wired together.
//
// The real peer (actors/peer_actor) and the simulated one (net/sim) run this same class.
//
// Guarantees  the weights of a job do not depend on the plan; a job that cannot fit is refused with
//             the peer that is short and by how many bytes; nothing waits without a deadline.
// Threads     none; one owner calls it (see planner/machine.hpp).
#pragma once

#include "planner/machine.hpp"

#include <memory>
#include <vector>

namespace perigee::planner {

struct peer_config {
  peer_record self;                  // address, workers, memory offer; the rate may still be zero
  std::vector<peer_record> members;  // the static list of the others: id, name, address
};

class peer {
public:
  explicit peer(peer_config config);
  ~peer();
  peer(peer&&) noexcept;
  peer& operator=(peer&&) noexcept;

  void step(instant now, const event& e, outbox& out);
  [[nodiscard]] instant deadline() const noexcept;

  /// Returns what this peer knows; `neighbour` link figures are the shell's to fill in.
  [[nodiscard]] status_report report() const;

private:
  struct state;
  std::unique_ptr<state> state_;
};

static_assert(machine<peer>);

}  // namespace perigee::planner
