#include "actors/peer_actor.hpp"

#include "actors/clock.hpp"
#include "actors/last_words.hpp"

#include <algorithm>

namespace perigee::actors {

namespace {

using self_pointer = caf::stateful_actor<peer_shell>*;

/// Asks to be called at the machine's deadline, unless an earlier call is on its way.
void arm(self_pointer self) {
  const instant next = self->state.machine->deadline();
  if (next >= self->state.armed) return;
  self->state.armed = next;
  const auto wait = std::max(next - now(), duration::zero());
  self->delayed_send(self, wait, due_atom::value, next);
}

void step(self_pointer self, const planner::event& what) {
  planner::outbox out;
  self->state.machine->step(now(), what, out);
  for (auto& action : out.drained()) std::visit(self->state.perform, action);
  arm(self);
}

}  // namespace

caf::behavior peer_actor(self_pointer self, planner::peer_config config, effects perform) {
  end_process_on_exception(self);
  self->state.machine = std::make_unique<planner::peer>(std::move(config));
  self->state.perform = std::move(perform);
  self->state.perform.self = self;
  // The lanes and the workshop belong to this peer: they end with it.
  self->attach_functor(
      [owned = self->state.perform.lanes, workshop = self->state.perform.workshop] {
        for (const auto& lane : owned) caf::anon_send_exit(lane, caf::exit_reason::user_shutdown);
        caf::anon_send_exit(workshop, caf::exit_reason::user_shutdown);
      });
  self->send(self->state.perform.workshop, calibrate_order{self->state.perform.share_percent});
  arm(self);
  return {
      [=](const planner::event& what) { step(self, what); },
      [=](const planner::event& what, const carrier::ticket&) { step(self, what); },
      [=](const planner::note& what) { self->state.perform.log(what); },
      [=](due_atom, instant when) {
        if (when != self->state.armed) return;  // an earlier deadline has replaced it
        self->state.armed = never;
        step(self, planner::due{});
      },
      [=](report_atom) { return self->state.machine->report(); },
      [=](caf::add_atom, const caf::actor& watcher) {
        self->state.perform.watchers.push_back(watcher);
      },
  };
}

}  // namespace perigee::actors
