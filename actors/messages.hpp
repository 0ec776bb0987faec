// What our actors send one another inside a process: never serialised, so floats and tensors are
// safe.
#pragma once

#include "planner/action.hpp"
#include "planner/event.hpp"
#include "proto/executor.hpp"
#include "proto/message.hpp"

#include <caf/all.hpp>

#include <memory>

namespace perigee::actors {

/// A task for a lane, with the executor that runs it.
struct lane_order {
  std::shared_ptr<executor> where;
  job_id job;
  std::uint64_t epoch = 0;
  std::uint32_t lane = 0;
  task what;
};

/// Work for the workshop: read data and profile a job, build an executor, or measure the kernels.
struct profile_order {
  job_record what;
};
struct prepare_order {
  specification spec;
  proposal what;
};
struct calibrate_order {
  std::uint32_t share_percent = 100;  // of a core, that each worker may count on
};

using due_atom = caf::atom_constant<caf::atom("due")>;
using report_atom = caf::atom_constant<caf::atom("report")>;

}  // namespace perigee::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(perigee::planner::event)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(perigee::planner::note)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(std::shared_ptr<const void>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(perigee::actors::lane_order)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(perigee::actors::profile_order)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(perigee::actors::prepare_order)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(perigee::actors::calibrate_order)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(perigee::progress)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(perigee::status_report)
