// The shell of a whole peer: turns messages into events, steps the machine, drains its actions,
// re-arms its deadline.
#pragma once

#include "actors/effects.hpp"
#include "planner/peer.hpp"

namespace perigee::actors {

struct peer_shell {
  std::unique_ptr<planner::peer> machine;
  effects perform;
  instant armed = never;
  static inline const char* name = "peer";
};

caf::behavior peer_actor(caf::stateful_actor<peer_shell>* self, planner::peer_config config,
                         effects perform);

}  // namespace perigee::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(perigee::instant)
