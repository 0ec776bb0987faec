// One lane of this peer: a detached actor, so a thread of its own, that runs one task at a time.
#pragma once

#include "actors/messages.hpp"

namespace perigee::actors {

/// Answers each `lane_order` with a `computed` event.
caf::behavior compute_actor(caf::event_based_actor* self);

}  // namespace perigee::actors
