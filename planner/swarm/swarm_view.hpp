// What a peer knows of itself and the other members: what its machines look at and only peer.cpp
// and planner/swarm/liveness.hpp's verdicts change.
//
// Threads  none; owned by planner::peer, which outlives the machines that look at it.
#pragma once

#include "planner/outbox.hpp"
#include "proto/message.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace perigee::planner {

struct known_member {
  peer_record record;
  bool linked = false;
  bool told = false;  // its record came over the link that stands now
};

[[nodiscard]] constexpr bool is_calibrated(const peer_record& r) noexcept {
  return r.rate != speed{};
}

/// Whom a plan is made for: every member, or those that can be spoken to.
enum class whom : std::uint8_t { all, present };

struct swarm_view {
  peer_record self;
  std::map<peer_id, known_member> members;  // of the static list, without this peer
  std::set<peer_id> clients;
  std::map<job_id, bytes> reserved;  // memory of this peer that executors hold

  [[nodiscard]] bool is_linked(peer_id who) const;
  /// Returns whether `who` is this peer or a member that can be spoken to.
  [[nodiscard]] bool is_present(peer_id who) const;
  /// Returns what keeps a plan from being made, e.g. `waiting for p3, p4 to link`; empty = nothing.
  [[nodiscard]] std::string lacking(whom of = whom::all) const;
  /// Returns the records of this peer and the members that are linked, in id order.
  [[nodiscard]] std::vector<peer_record> records() const;
  /// Returns what of this peer's offer is left for a job.
  [[nodiscard]] bytes memory_for(job_id job) const;
  /// Puts a send to each linked member.
  void broadcast(const message& what, outbox& out) const;
};

}  // namespace perigee::planner
