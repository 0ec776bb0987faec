// What peers, and clients of peers, say to one another: plain structs that mirror proto/*.capnp.
//
// A message is a noun. `message` is the one union that the CONTROL channel carries; proto/codec.hpp
// turns it into bytes and back. Tensors travel beside it, named by tensor_ref.
#pragma once

#include "proto/base/id.hpp"
#include "proto/base/result.hpp"
#include "proto/base/units.hpp"
#include "proto/job.hpp"
#include "proto/model_profile.hpp"
#include "proto/plan.hpp"
#include "proto/task.hpp"
#include "proto/tensor.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace perigee {

/// What a peer tells of itself. A higher version replaces a lower one of the same incarnation.
struct peer_record {
  peer_id peer;
  std::uint64_t incarnation = 0;  // of this process: a restart has a higher one
  std::uint64_t version = 0;
  std::string name;     // for people
  std::string address;  // host:port it listens on
  std::uint32_t workers = 1;
  bytes memory_offer;
  speed rate{};  // of one worker; all zero until calibrated: such a peer accepts no plan
  std::uint64_t fingerprint = 0;  // of its kernels; equal ones give equal bits
  friend bool operator==(const peer_record&, const peer_record&) = default;
};

struct ping {
  std::uint64_t count = 0;
  friend bool operator==(const ping&, const ping&) = default;
};
struct pong {
  std::uint64_t count = 0;
  friend bool operator==(const pong&, const pong&) = default;
};

/// A job as it spreads: every peer that hears of it knows it. A job that was over and is submitted
/// again begins anew: the record with the higher `after_epoch` goes.
struct job_record {
  job_id job;
  specification spec;
  wishes wanted;
  std::uint64_t after_epoch = 0;  // plans of this beginning have higher epochs
  friend bool operator==(const job_record&, const job_record&) = default;
};

struct proposal {
  plan what;
  std::uint64_t base_step = 0;  // the step whose state it starts from
  friend bool operator==(const proposal&, const proposal&) = default;
};

struct acceptance {
  job_id job;
  std::uint64_t epoch = 0;
  std::uint64_t plan_digest = 0;
  friend bool operator==(const acceptance&, const acceptance&) = default;
};

/// Why not, and what it could offer: the next proposal takes it into account.
struct refusal {
  job_id job;
  std::uint64_t epoch = 0;
  std::uint64_t plan_digest = 0;
  error why;
  bytes needed;  // if memory is short: what the plan asks of the peer
  bytes offered;
  friend bool operator==(const refusal&, const refusal&) = default;
};

struct commitment {
  proposal what;
  friend bool operator==(const commitment&, const commitment&) = default;
};

/// What a stage measured of its total gradients of a step; sent to every peer outside the stage.
/// When a peer has all stages' it applies: nobody commits a step that is not finite somewhere.
struct measurement {
  job_id job;
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  std::uint32_t stage = 0;
  bool finite = true;
  non_finite where{};                 // if not finite
  std::vector<std::uint64_t> values;  // of the stage's layers, in layer order
  std::uint64_t loss_bits = 0;        // last stage only
  std::uint64_t counted = 0;
  friend bool operator==(const measurement&, const measurement&) = default;
};

/// The digests of the new states of layers [layer_first, layer_first + states.size()) after `step`
/// steps.
struct state_report {
  job_id job;
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;  // steps done
  std::uint32_t layer_first = 0;
  std::vector<digest128> states;
  friend bool operator==(const state_report&, const state_report&) = default;
};

/// A job cannot go on: everybody who takes part hears why.
struct halt {
  job_id job;
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;  // steps done
  error why;
  friend bool operator==(const halt&, const halt&) = default;
};

// ---- what a client (the command line) asks, and the answers
// -----------------------------------------------------------

struct submission {
  job_record what;
  friend bool operator==(const submission&, const submission&) = default;
};

/// The answer to a submission: the job is known (it may have run before), or why it is refused.
struct receipt {
  job_id job;
  bool accepted = false;
  error why;  // if refused
  friend bool operator==(const receipt&, const receipt&) = default;
};

/// From now on tell me of this job.
struct subscription {
  job_id job;
  friend bool operator==(const subscription&, const subscription&) = default;
};

enum class job_phase : std::uint8_t { waiting, planning, preparing, running, finished, halted };

[[nodiscard]] constexpr std::string_view text(job_phase phase) noexcept {
  constexpr std::string_view names[] = {"waiting", "planning", "preparing",
                                        "running", "finished", "halted"};
  return names[static_cast<std::size_t>(phase)];
}

/// What one finished step leaves: design section 4, "commit record".
struct commit_record {
  job_id job;
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;       // steps done
  std::uint64_t loss_bits = 0;  // f64: mean over the mini-batch's counted targets
  std::uint64_t counted = 0;    // targets
  std::uint32_t micro_batches = 0;
  std::vector<digest128> states;  // of every layer
  friend bool operator==(const commit_record&, const commit_record&) = default;
};

/// What one peer did for a job so far.
struct peer_work {
  peer_id peer;
  std::uint64_t micro_batches = 0;  // backward passes of its stage
  bytes sent;                       // tensors
  bytes received;
  duration computing{};  // lane time
  bytes memory;          // what its part of the plan needs
  bytes offered;
  friend bool operator==(const peer_work&, const peer_work&) = default;
};

/// News of a job for a subscriber: sent at each phase change and each finished step.
struct progress {
  job_id job;
  job_phase phase{};
  std::uint64_t step = 0;
  std::uint64_t steps = 0;
  commit_record last;  // of the newest finished step; empty before the first
  plan current;
  error why;                    // halted or waiting: the reason
  std::vector<peer_work> work;  // one for each participant, with the last news it sent
  duration measured_step{};     // of the newest step
  friend bool operator==(const progress&, const progress&) = default;
};

/// A participant's own account, told to the other participants once in a while and at the end.
struct account {
  job_id job;
  peer_work work;
  friend bool operator==(const account&, const account&) = default;
};

/// A line for people about a job, e.g. why we wait.
struct remark {
  job_id job;
  std::string line;
  friend bool operator==(const remark&, const remark&) = default;
};

struct status_request {
  friend bool operator==(const status_request&, const status_request&) = default;
};

struct neighbour {
  peer_record record;
  bool linked = false;
  duration round_trip{};
  bytes sent;
  bytes received;
  friend bool operator==(const neighbour&, const neighbour&) = default;
};

struct status_report {
  peer_record self;
  std::vector<neighbour> neighbours;
  std::vector<progress> jobs;
  std::uint64_t dropped_frames = 0;  // undecodable, oversized or unexpected ones
  friend bool operator==(const status_report&, const status_report&) = default;
};

/// Asks a peer for the state of a layer of a job that does not run any more: it comes as a tensor,
/// or a `missing`.
struct state_request {
  job_id job;
  std::uint32_t layer = 0;
  friend bool operator==(const state_request&, const state_request&) = default;
};

struct missing {
  job_id job;
  std::uint32_t layer = 0;
  error why;
  friend bool operator==(const missing&, const missing&) = default;
};

/// Asks a peer to end: it closes its links and its process exits with 0.
struct farewell {
  friend bool operator==(const farewell&, const farewell&) = default;
};

using message =
    std::variant<peer_record, ping, pong, job_record, proposal, acceptance, refusal, commitment,
                 measurement, state_report, halt, submission, receipt, subscription, progress,
                 account, remark, status_request, status_report, state_request, missing, farewell>;

/// One line for logs and traces: the kind and what tells it from others.
[[nodiscard]] std::string text(const message& m);

}  // namespace perigee
