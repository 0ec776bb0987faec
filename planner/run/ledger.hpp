// What each participant did for a job so far: the own account, kept here, and the others' as told.
//
// Threads  none; one owner.
#pragma once

#include "planner/run/stage_place.hpp"
#include "proto/message.hpp"

#include <map>
#include <vector>

namespace perigee::planner {

class ledger {
public:
  /// `where` outlives this.
  ledger(const stage_place& where, bytes memory, bytes offered);

  [[nodiscard]] peer_work& own() { return work_.at(where_.own().peer); }
  [[nodiscard]] const peer_work& own() const { return work_.at(where_.own().peer); }

  /// Another participant's account; ignored if it is of somebody else or older than the last.
  void note(peer_id from, const peer_work& work);

  /// Returns the accounts in stage and group order.
  [[nodiscard]] std::vector<peer_work> all() const;

  /// Returns a participant whose account does not cover `steps` steps yet, or peer_id{}.
  [[nodiscard]] peer_id incomplete(std::uint64_t steps) const;
  [[nodiscard]] bool is_complete(peer_id who, std::uint64_t steps) const;

private:
  const stage_place& where_;
  std::map<peer_id, peer_work> work_;
};

}  // namespace perigee::planner
