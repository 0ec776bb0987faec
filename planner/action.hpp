// What a peer's machines want done: the only way anything leaves them. Actions are imperatives.
#pragma once

#include "proto/message.hpp"

#include <string>
#include <variant>
#include <vector>

namespace perigee::planner {

struct send {
  peer_id to;
  message what;
};
/// Send a tensor's bytes; `transmitted` follows unless the link breaks first.
struct transmit {
  peer_id to;
  job_id job;
  std::uint64_t plan_digest = 0;
  tensor_ref what;
  bytes size;
};
/// Read the data, build the model's graph and answer with its profile (`profiled`).
struct profile {
  job_record what;
};
/// Build the executor for this peer's place in the plan and answer (`prepared`).
struct prepare {
  proposal what;
};
/// Run a task on a lane and answer (`computed`). At most one task a lane is out at a time.
struct compute {
  job_id job;
  std::uint64_t epoch = 0;
  std::uint32_t lane = 0;
  task what;
};
/// The executor of this plan is not needed any more.
struct discard {
  job_id job;
  std::uint64_t epoch = 0;
};
/// Close the link.
struct disconnect {
  peer_id who;
  error why;
};
/// Tell those in this process who watch the job.
struct announce {
  progress what;
};
enum class level : std::uint8_t { detail, info, warning };
/// A line for the log.
struct note {
  level how{};
  std::string line;
};
/// End the process in good order.
struct leave {};

using action = std::variant<send, transmit, profile, prepare, compute, discard, disconnect,
                            announce, note, leave>;

[[nodiscard]] std::string text(const action& a);

}  // namespace perigee::planner
