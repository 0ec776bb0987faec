#include "actors/workshop_actor.hpp"

#include "kernels/calibrate.hpp"
#include "kernels/engine.hpp"
#include "kernels/executor_factory.hpp"

namespace perigee::actors {

namespace {

planner::prepared prepared_by(const prepare_order& order, peer_id id, shelf& executors) {
  const plan& what = order.what.what;
  auto built = kernels::executor_for(order.spec, what, id);
  if (!built) return {what.job, what.epoch, built.why()};
  executors.put(what, std::move(*built));
  return {what.job, what.epoch, {}};
}

}  // namespace

caf::behavior workshop_actor(caf::event_based_actor*, peer_id id,
                             std::shared_ptr<shelf> executors) {
  kernels::enter_lane();
  return {
      [](const profile_order& order) -> planner::event {
        return planner::profiled{order.what.job, kernels::profile_of(order.what.spec)};
      },
      [=](const prepare_order& order) -> planner::event {
        return prepared_by(order, id, *executors);
      },
      [](calibrate_order order) -> planner::event {
        auto measured = kernels::calibrate();
        for (auto& rate : measured.rate) rate = rate * order.share_percent / 100;
        return planner::calibrated{measured.rate, measured.fingerprint};
      },
  };
}

}  // namespace perigee::actors
