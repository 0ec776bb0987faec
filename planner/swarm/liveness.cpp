#include "planner/swarm/liveness.hpp"

#include "planner/limits.hpp"

#include <algorithm>

namespace perigee::planner {

void liveness::step(instant now, const event& e, outbox& out) {
  if (const auto* up = std::get_if<linked>(&e)) {
    if (up->client) return;
    links_[up->who] = {now, now, 0};
    next_look_ = std::min(next_look_, now + limits::ping_period);
  } else if (const auto* down = std::get_if<unlinked>(&e)) {
    links_.erase(down->who);
    if (links_.empty()) next_look_ = never;
  } else if (const auto* noise = std::get_if<heard>(&e)) {
    note_heard(now, noise->who);
  } else if (const auto* tensor = std::get_if<arrived>(&e)) {
    note_heard(now, tensor->from);
  } else if (const auto* in = std::get_if<received>(&e)) {
    note_heard(now, in->from);
    if (const auto* asked = std::get_if<ping>(&in->what))
      out.put(send{in->from, pong{asked->count}});
  } else if (std::holds_alternative<due>(e)) {
    on_due(now, out);
  }
}

void liveness::note_sent(instant now, peer_id to) {
  if (const auto at = links_.find(to); at != links_.end()) at->second.sent = now;
}

std::vector<unlinked> liveness::lost() { return std::exchange(lost_, {}); }

void liveness::note_heard(instant now, peer_id from) {
  if (const auto at = links_.find(from); at != links_.end()) at->second.heard = now;
}

/// Whoever is called late was stalled itself, and what others sent meanwhile still waits to be
/// told: their silence does not count for so long (after Lifeguard, Dadgar et al., 2018).
void liveness::forgive(instant now) {
  const instant expected = next_look_;
  if (expected == never || now < expected + limits::ping_period) return;
  for (auto& [who, l] : links_) l.heard = std::min(now, l.heard + (now - expected));
}

void liveness::on_due(instant now, outbox& out) {
  forgive(now);
  next_look_ = never;
  for (auto at = links_.begin(); at != links_.end();) {
    auto& [who, l] = *at;
    if (now >= l.heard + limits::silence_max) {
      const error why{errc::timed_out, "silent for " + perigee::text(now - l.heard)};
      out.put(disconnect{who, why});
      lost_.push_back({who, why});
      at = links_.erase(at);
      continue;
    }
    if (now >= l.sent + limits::ping_period) {
      l.sent = now;
      out.put(send{who, ping{++l.pings}});
    }
    next_look_ =
        std::min({next_look_, l.heard + limits::silence_max, l.sent + limits::ping_period});
    ++at;
  }
}

}  // namespace perigee::planner
