// Where slow preparations are made: reading data, building executors, measuring the kernels. One
// detached actor.
#pragma once

#include "actors/messages.hpp"
#include "actors/shelf.hpp"

namespace perigee::actors {

/// Answers each order with a `profiled`, `prepared` or `calibrated` event; executors go to the
/// shelf.
caf::behavior workshop_actor(caf::event_based_actor* self, peer_id id,
                             std::shared_ptr<shelf> executors);

}  // namespace perigee::actors
