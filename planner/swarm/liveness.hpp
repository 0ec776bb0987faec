// Which linked members live: pings on idle links, and a verdict on silence.
//
//   linked --nothing heard for silence_max--> lost
//
// Guarantees  a link that is idle carries a ping each ping_period; whatever comes from a member
//             counts as life; a lost member is reported once; a stall of this peer itself is not
//             held against the others.
// Threads     none; one owner calls it (see planner/machine.hpp).
#pragma once

#include "planner/machine.hpp"

#include <map>
#include <vector>

namespace perigee::planner {

class liveness {
public:
  /// Consumes one event. O(1), `due` O(members).
  void step(instant now, const event& e, outbox& out);
  [[nodiscard]] instant deadline() const noexcept { return next_look_; }

  /// A message went to a member: no ping is needed for a while.
  void note_sent(instant now, peer_id to);

  /// Returns the members that fell silent since the last call, in id order.
  [[nodiscard]] std::vector<unlinked> lost();

private:
  struct link {
    instant heard;
    instant sent;
    std::uint64_t pings = 0;
  };
  void note_heard(instant now, peer_id from);
  void forgive(instant now);
  void on_due(instant now, outbox& out);

  std::map<peer_id, link> links_;
  instant next_look_ = never;  // no link needs anything before; what comes or goes only puts it off
  std::vector<unlinked> lost_;
};

static_assert(machine<liveness>);

}  // namespace perigee::planner
