#include "actors/compute_actor.hpp"

#include "actors/clock.hpp"
#include "kernels/engine.hpp"

namespace perigee::actors {

caf::behavior compute_actor(caf::event_based_actor*) {
  kernels::enter_lane();
  return {[](lane_order& order) -> planner::event {
    const instant begin = now();
    outcome how = order.where->run(order.lane, order.what);
    how.elapsed = now() - begin;
    return planner::computed{order.job, order.epoch, order.lane, std::move(order.what),
                             std::move(how)};
  }};
}

}  // namespace perigee::actors
