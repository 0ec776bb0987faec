#include "planner/run/ledger.hpp"

namespace perigee::planner {

ledger::ledger(const stage_place& where, bytes memory, bytes offered) : where_(where) {
  for (const peer_id who : participants(where.whole)) work_[who].peer = who;
  own().memory = memory;
  own().offered = offered;
}

void ledger::note(peer_id from, const peer_work& work) {
  const auto at = work_.find(from);
  if (at == work_.end() || work.peer != from || from == where_.own().peer) return;
  if (work.micro_batches >= at->second.micro_batches) at->second = work;
}

std::vector<peer_work> ledger::all() const {
  std::vector<peer_work> list;
  for (const peer_id who : participants(where_.whole)) list.push_back(work_.at(who));
  return list;
}

peer_id ledger::incomplete(std::uint64_t steps) const {
  for (const peer_id who : participants(where_.whole))
    if (!is_complete(who, steps)) return who;
  return {};
}

bool ledger::is_complete(peer_id who, std::uint64_t steps) const {
  const place at = place_of(where_.whole, who);
  if (at.stage >= where_.whole.stages.size()) return true;
  const member& m = where_.whole.stages[at.stage].group[at.index];
  const auto own = micro_batches_in(where_.model, {m.slice_first, m.slice_count});
  return work_.at(who).micro_batches >= own.count * steps;
}

}  // namespace perigee::planner
