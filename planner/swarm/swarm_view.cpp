#include "planner/swarm/swarm_view.hpp"

#include <algorithm>

namespace perigee::planner {

namespace {

void add(std::string& list, peer_id who) {
  if (!list.empty()) list += ", ";
  list += text(who);
}

}  // namespace

bool swarm_view::is_linked(peer_id who) const {
  const auto at = members.find(who);
  return at != members.end() ? at->second.linked : clients.contains(who);
}

bool swarm_view::is_present(peer_id who) const {
  if (who == self.peer) return true;
  const auto at = members.find(who);
  return at != members.end() && at->second.linked;
}

std::string swarm_view::lacking(whom of) const {
  std::string unlinked;
  std::string uncalibrated;
  if (!is_calibrated(self)) add(uncalibrated, self.peer);
  for (const auto& [id, m] : members) {
    if (!m.linked) {
      if (of == whom::all) add(unlinked, id);
    } else if (!m.told || !is_calibrated(m.record)) {
      add(uncalibrated, id);
    }
  }
  if (unlinked.empty() && uncalibrated.empty()) return {};
  std::string line = "waiting for ";
  if (!unlinked.empty()) line += unlinked + " to link";
  if (!unlinked.empty() && !uncalibrated.empty()) line += " and for ";
  if (!uncalibrated.empty()) line += uncalibrated + " to be calibrated";
  return line;
}

std::vector<peer_record> swarm_view::records() const {
  std::vector<peer_record> all{self};
  for (const auto& [id, m] : members)
    if (m.linked) all.push_back(m.record);
  std::sort(all.begin(), all.end(),
            [](const peer_record& a, const peer_record& b) { return a.peer < b.peer; });
  return all;
}

bytes swarm_view::memory_for(job_id job) const {
  bytes held;
  for (const auto& [other, size] : reserved)
    if (other != job) held += size;
  return held >= self.memory_offer ? bytes{} : self.memory_offer - held;
}

void swarm_view::broadcast(const message& what, outbox& out) const {
  for (const auto& [id, m] : members)
    if (m.linked) out.put(send{id, what});
}

}  // namespace perigee::planner
