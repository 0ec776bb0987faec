// What happens to a peer: the only way anything enters the machines. Events are past participles.
#pragma once

#include "proto/message.hpp"

#include <string>
#include <variant>

namespace perigee::planner {

/// A neighbour, or a client of this peer, can be spoken to.
struct linked {
  peer_id who;
  bool client = false;
  friend bool operator==(const linked&, const linked&) = default;
};
/// It cannot any more.
struct unlinked {
  peer_id who;
  error why;
  friend bool operator==(const unlinked&, const unlinked&) = default;
};
/// Bytes came in from a peer, whatever they were: it lives. Told at most some times a second.
struct heard {
  peer_id who;
  friend bool operator==(const heard&, const heard&) = default;
};
struct received {
  peer_id from;
  message what;
  friend bool operator==(const received&, const received&) = default;
};
/// A tensor is complete and in its place with the executor.
struct arrived {
  peer_id from;
  job_id job;
  tensor_ref what;
  bytes size;
  std::uint64_t plan_digest = 0;  // of the plan in whose place it is: its name alone may come again
  friend bool operator==(const arrived&, const arrived&) = default;
};
/// The last byte of a tensor has left; its buffer is free again.
struct transmitted {
  peer_id to;
  job_id job;
  tensor_ref what;
  bytes size;
  std::uint64_t plan_digest = 0;
  friend bool operator==(const transmitted&, const transmitted&) = default;
};
/// The answer to `profile`.
struct profiled {
  job_id job;
  result<model_profile> what;
};
/// The answer to `prepare`: the executor stands, or why not.
struct prepared {
  job_id job;
  std::uint64_t epoch = 0;
  result<void> how;
};
/// The answer to `compute`.
struct computed {
  job_id job;
  std::uint64_t epoch = 0;
  std::uint32_t lane = 0;
  task what;
  outcome how;
};
/// This peer's kernels are measured; no plan is accepted before.
struct calibrated {
  speed rate{};
  std::uint64_t fingerprint = 0;
};
/// Somebody in this process (not over a link) submits a job.
struct submitted {
  job_record what;
};
/// The deadline passed.
struct due {};

using event = std::variant<linked, unlinked, heard, received, arrived, transmitted, profiled,
                           prepared, computed, calibrated, submitted, due>;

[[nodiscard]] std::string text(const event& e);

}  // namespace perigee::planner
