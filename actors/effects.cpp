#include "actors/effects.hpp"

#include "proto/base/check.hpp"

namespace perigee::actors {

void effects::operator()(planner::send& what) {
  // A link that broke meanwhile has told so by an event of its own.
  if (auto sent = links->send(what.to, what.what); !sent) {
    log({planner::level::detail, "send to " + text(what.to) + ": " + sent.why().what});
  }
}

void effects::operator()(planner::transmit& what) {
  if (auto sent = links->transmit(what); !sent) {
    log({planner::level::detail, "transmit to " + text(what.to) + ": " + sent.why().what});
  }
}

void effects::operator()(planner::profile& what) {
  jobs[what.what.job] = what.what.spec;
  self->send(workshop, profile_order{std::move(what.what)});
}

void effects::operator()(planner::prepare& what) {
  const auto known = jobs.find(what.what.what.job);
  CHECK(known != jobs.end());  // a plan is checked against the job's profile, which was made here
  self->send(workshop, prepare_order{known->second, std::move(what.what)});
}

void effects::operator()(planner::compute& what) {
  auto where = executors->of_epoch(what.job, what.epoch);
  CHECK(where != nullptr && what.lane < lanes.size());
  self->send(lanes[what.lane],
             lane_order{std::move(where), what.job, what.epoch, what.lane, std::move(what.what)});
}

void effects::operator()(planner::discard& what) { executors->remove(what.job, what.epoch); }

void effects::operator()(planner::disconnect& what) { links->close(what.who); }

void effects::operator()(planner::announce& what) {
  for (const auto& watcher : watchers) self->send(watcher, what.what);
}

void effects::operator()(planner::note& what) { log(what); }

void effects::operator()(planner::leave&) { on_leave(); }

}  // namespace perigee::actors
