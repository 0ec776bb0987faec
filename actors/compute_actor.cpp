#include "actors/compute_actor.hpp"

#include "actors/last_words.hpp"
#include "kernels/engine.hpp"

namespace perigee::actors {

caf::behavior compute_actor(caf::event_based_actor* self) {
  end_process_on_exception(self);
  kernels::enter_lane();
  return {[](lane_order& order) -> planner::event {
    outcome how = order.where->run(order.lane, order.what);
    return planner::computed{order.job, order.epoch, order.lane, std::move(order.what),
                             std::move(how)};
  }};
}

}  // namespace perigee::actors
