#include "planner/peer.hpp"

#include "planner/jobs.hpp"
#include "planner/swarm/liveness.hpp"

#include <algorithm>
#include <deque>
#include <tuple>

namespace perigee::planner {

struct peer::state {
  explicit state(peer_config config) : work(view) {
    view.self = std::move(config.self);
    for (peer_record& m : config.members) {
      const peer_id id = m.peer;
      if (id != view.self.peer && id != peer_id{}) view.members[id].record = std::move(m);
    }
  }

  void step(instant now, const event& e, outbox& out);
  void take(instant now, const event& e, outbox& out);
  void pass(instant now, outbox& inner, outbox& out);

  [[nodiscard]] bool is_stale(const event& e) const;
  bool on(const linked& e, outbox& out);
  bool on(const unlinked& e, outbox& out);
  bool on(const received& e, outbox& out);
  bool on(const peer_record& r, peer_id from);
  bool on(const calibrated& e, outbox& out);
  bool on_client(const received& e, outbox& out);
  [[nodiscard]] status_report report() const;

  swarm_view view;
  liveness life;
  jobs work;
  std::deque<message> to_self;  // what this peer sends to itself, as any participant would get it
};

void peer::state::step(instant now, const event& e, outbox& out) {
  outbox inner;
  take(now, e, inner);
  pass(now, inner, out);
  for (const unlinked& gone : life.lost()) {
    take(now, gone, inner);
    pass(now, inner, out);
  }
  while (!to_self.empty()) {
    const received own{view.self.peer, std::move(to_self.front())};
    to_self.pop_front();
    work.step(now, own, inner);
    pass(now, inner, out);
  }
}

void peer::state::take(instant now, const event& e, outbox& out) {
  if (is_stale(e)) return;
  if (const auto* up = std::get_if<linked>(&e); up != nullptr && !up->client) {
    if (!view.members.contains(up->who)) {
      const std::string why = text(up->who) + " is not in the list of members";
      out.put(disconnect{up->who, {errc::unknown_peer, why}});
      return;
    }
    // Whatever was on its way over the old link is gone.
    if (view.is_linked(up->who))
      take(now, unlinked{up->who, {errc::stale, "its link was replaced"}}, out);
  }
  const bool goes_on = std::visit(
      [&](const auto& what) {
        if constexpr (requires { this->on(what, out); }) {
          return on(what, out);
        } else {
          return true;
        }
      },
      e);
  life.step(now, e, out);
  if (goes_on) work.step(now, e, out);
}

/// Lets out what can go out: messages to this peer come back in, those to the absent are dropped.
void peer::state::pass(instant now, outbox& inner, outbox& out) {
  for (action& a : inner.drained()) {
    if (auto* s = std::get_if<send>(&a)) {
      if (s->to == view.self.peer) {
        to_self.push_back(std::move(s->what));
        continue;
      }
      if (!view.is_linked(s->to)) continue;
      life.note_sent(now, s->to);
    } else if (const auto* t = std::get_if<transmit>(&a)) {
      if (!view.is_linked(t->to)) continue;
    }
    out.put(std::move(a));
  }
}

/// What comes of somebody who is not linked is older than the end of its link.
bool peer::state::is_stale(const event& e) const {
  if (const auto* in = std::get_if<received>(&e)) return !view.is_linked(in->from);
  if (const auto* tensor = std::get_if<arrived>(&e)) return !view.is_linked(tensor->from);
  if (const auto* noise = std::get_if<heard>(&e)) return !view.is_linked(noise->who);
  if (const auto* down = std::get_if<unlinked>(&e)) return !view.is_linked(down->who);
  return false;
}

bool peer::state::on(const linked& e, outbox& out) {
  if (e.client) {
    if (!view.members.contains(e.who) && e.who != view.self.peer) view.clients.insert(e.who);
    return false;
  }
  known_member& m = view.members.at(e.who);
  m.linked = true;
  m.told = false;
  out.put(note{level::info, text(e.who) + " is linked"});
  out.put(send{e.who, view.self});
  return true;
}

bool peer::state::on(const unlinked& e, outbox& out) {
  view.clients.erase(e.who);
  const auto at = view.members.find(e.who);
  if (at == view.members.end()) return true;
  at->second.linked = false;
  at->second.told = false;
  out.put(note{level::warning, text(e.who) + " is lost: " + e.why.what});
  return true;
}

bool peer::state::on(const received& e, outbox& out) {
  if (std::holds_alternative<status_request>(e.what)) {
    out.put(send{e.from, report()});
    return false;
  }
  if (view.clients.contains(e.from)) return on_client(e, out);
  if (const auto* r = std::get_if<peer_record>(&e.what)) return on(*r, e.from);
  return true;
}

bool peer::state::on(const peer_record& r, peer_id from) {
  known_member& m = view.members.at(from);
  if (r.peer != from) return false;
  const auto told = std::tie(r.incarnation, r.version);
  const auto known = std::tie(m.record.incarnation, m.record.version);
  if (told < known || (told == known && m.told)) return false;
  m.record = r;
  m.told = true;
  return true;
}

bool peer::state::on_client(const received& e, outbox& out) {
  if (!std::holds_alternative<farewell>(e.what)) return true;
  out.put(note{level::info, "a client asks this peer to end"});
  out.put(leave{});
  return false;
}

bool peer::state::on(const calibrated& e, outbox& out) {
  view.self.rate = e.rate;
  view.self.fingerprint = e.fingerprint;
  ++view.self.version;
  view.broadcast(view.self, out);
  return true;
}

status_report peer::state::report() const {
  status_report all;
  all.self = view.self;
  for (const auto& [id, m] : view.members) {
    neighbour n;
    n.record = m.record;
    n.linked = m.linked;
    all.neighbours.push_back(std::move(n));
  }
  all.jobs = work.report();
  return all;
}

peer::peer(peer_config config) : state_(std::make_unique<state>(std::move(config))) {}
peer::~peer() = default;
peer::peer(peer&&) noexcept = default;
peer& peer::operator=(peer&&) noexcept = default;

void peer::step(instant now, const event& e, outbox& out) { state_->step(now, e, out); }

instant peer::deadline() const noexcept {
  return std::min(state_->life.deadline(), state_->work.deadline());
}

status_report peer::report() const { return state_->report(); }

}  // namespace perigee::planner
