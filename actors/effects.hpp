// What a peer's actions do in the real world. No decision is made here: each kind of action has its
// one effect.
#pragma once

#include "actors/carrier.hpp"
#include "actors/messages.hpp"

#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace perigee::actors {

/// Where effects go. `watchers` and `jobs` are touched by the peer actor's thread only.
struct effects {
  caf::event_based_actor* self = nullptr;
  std::shared_ptr<carrier> links;
  std::shared_ptr<shelf> executors;
  caf::actor workshop;
  std::vector<caf::actor> lanes;
  std::uint32_t share_percent = 100;
  std::function<void(const planner::note&)> log;
  std::function<void()> on_leave;
  std::vector<caf::actor> watchers;
  std::map<job_id, specification> jobs;  // as profiled here: what an executor is built from

  void operator()(planner::send& what);
  void operator()(planner::transmit& what);
  void operator()(planner::profile& what);
  void operator()(planner::prepare& what);
  void operator()(planner::compute& what);
  void operator()(planner::discard& what);
  void operator()(planner::disconnect& what);
  void operator()(planner::announce& what);
  void operator()(planner::note& what);
  void operator()(planner::leave& what);
};

}  // namespace perigee::actors
