#include "net/sim/world.hpp"

#include "proto/base/check.hpp"

#include <algorithm>

namespace perigee::net {

world::world(world_config config, executor_factory executors, profiler profiles) {
  around_.events = trace(config.how);
  around_.executors = std::move(executors);
  around_.profiles = std::move(profiles);
  around_.seed = config.seed;
  around_.jitter_permille = config.jitter_permille;
  std::vector<peer_record> members;
  for (const simulated_peer& p : config.peers) {
    // What others know before they hear from it: where it is, not what it can.
    peer_record known;
    known.peer = p.self.peer;
    known.name = p.self.name;
    members.push_back(std::move(known));
  }
  for (simulated_peer& p : config.peers) {
    const instant calibrated = around_.queue.now() + p.calibration;
    peers_.push_back(std::make_unique<sim_peer>(around_, std::move(p.self), p.actual, members));
    peers_.back()->calibrate(calibrated);
  }
  const auto count = static_cast<std::uint32_t>(peers_.size());
  for (std::uint32_t a = 0; a < count; ++a) {
    for (std::uint32_t b = a + 1; b < count; ++b) {
      const link_character link = config.links ? config.links(a, b) : link_character{};
      around_.network.connect(a, b, link, around_.queue.now() + link.latency * 2);
    }
  }
  alive_.assign(count, true);
  frozen_until_.assign(count, instant{});
  news_.resize(count);
  around_.on_progress = [this](peer_id who, const progress& what) {
    news_[position_of(who)] = what;
    news_came_ = true;
  };
}

void world::submit(peer_id through, const job_record& what, instant at) {
  peers_[position_of(through)]->later(at, planner::submitted{what});
}

void world::kill(peer_id who, instant at) { plan_fault(who, at, {.how = fault_plan::what::kill}); }

void world::freeze(peer_id who, instant at, instant until) {
  plan_fault(who, at, {.how = fault_plan::what::freeze, .until = until});
}

void world::slow(peer_id who, instant at, std::uint32_t permille) {
  plan_fault(who, at, {.how = fault_plan::what::slow, .permille = permille});
}

bool world::advance() {
  if (around_.queue.empty()) return false;
  const timed next = around_.queue.pop();
  if (next.kind == world_kind::fault) {
    suffer(next.who, faults_[next.what]);
    return true;
  }
  if (frozen_until_[next.who] > next.at) {
    around_.queue.push(frozen_until_[next.who], next.kind, next.who, next.what);
    return true;
  }
  around_.events.add(static_cast<std::uint64_t>(next.at.time_since_epoch().count()), next.kind,
                     next.who);
  if (next.kind < sim_network::kinds) {
    around_.network.handle(next);
  } else if (alive_[next.who]) {
    peers_[next.who]->handle(next);
  }
  if (alive_[next.who] && peers_[next.who]->left()) {
    alive_[next.who] = false;
    around_.network.remove(next.who, {errc::unavailable, "it left"});
  }
  return true;
}

bool world::run(const std::function<bool()>& done, instant end) {
  news_came_ = true;
  for (;;) {
    if (std::exchange(news_came_, false) && done()) return true;
    if (around_.queue.next() > end || !advance()) return false;
  }
}

std::uint32_t world::position_of(peer_id who) const {
  // Peers of a test bed are numbered from 1 in order.
  if (who.value > 0 && who.value <= peers_.size() && peers_[who.value - 1]->self().peer == who) {
    return static_cast<std::uint32_t>(who.value - 1);
  }
  const auto at = std::find_if(peers_.begin(), peers_.end(),
                               [who](const auto& p) { return p->self().peer == who; });
  CHECK(at != peers_.end());
  return static_cast<std::uint32_t>(at - peers_.begin());
}

void world::plan_fault(peer_id who, instant at, const fault_plan& f) {
  faults_.push_back(f);
  around_.queue.push(at, world_kind::fault, position_of(who), faults_.size() - 1);
}

void world::suffer(std::uint32_t position, const fault_plan& f) {
  switch (f.how) {
    case fault_plan::what::kill:
      if (!alive_[position]) return;
      alive_[position] = false;
      news_came_ = true;
      return around_.network.remove(position, {errc::unavailable, "its process ended"});
    case fault_plan::what::freeze:
      frozen_until_[position] = f.until;
      return;
    case fault_plan::what::slow:
      return peers_[position]->slow(f.permille);
  }
}

}  // namespace perigee::net
