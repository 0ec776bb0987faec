// codec_pieces: how each struct and its Cap'n Proto form become one another. For proto/codec*.cpp
// only: it sees generated headers.
//
// `write` takes a struct apart by a structured binding, so that a field nobody writes does not
// compile. `read` throws `error` where the input is refused; codec.cpp catches it.
#pragma once

#include "proto/codec.hpp"
#include "proto/common.capnp.h"
#include "proto/frame.capnp.h"
#include "proto/job.capnp.h"
#include "proto/plan.capnp.h"
#include "proto/swarm.capnp.h"
#include "proto/train.capnp.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace perigee::wire {

// ---- texts and enumerants ---------------------------------------------------------------------

inline kj::StringPtr in_capnp(const std::string& words) { return {words.c_str(), words.size()}; }

/// Returns words for people, cut at the limit: better a short reason than none.
inline std::string cut(const std::string& words) { return words.substr(0, codec_limits::text_max); }

inline std::string read_text(capnp::Text::Reader from, std::size_t letters_max, const char* what) {
  if (from.size() > letters_max)
    throw error{errc::exhausted, std::string(what) + " of " + std::to_string(from.size()) +
                                     " letters; the limit is " + std::to_string(letters_max)};
  return {from.cStr(), from.size()};
}

/// Returns the enumerant of the same number. `last` is the highest that we know.
template <class Ours, class Theirs>
Ours read_enum(Theirs from, Ours last, const char* what) {
  if (static_cast<unsigned>(from) > static_cast<unsigned>(last))
    throw error{errc::malformed,
                std::string("unknown ") + what + ' ' + std::to_string(static_cast<unsigned>(from))};
  return static_cast<Ours>(from);
}

template <class Theirs, class Ours>
Theirs in_capnp(Ours value) {
  return static_cast<Theirs>(static_cast<std::uint16_t>(value));
}

// ---- structs ----------------------------------------------------------------------------------

#define PERIGEE_PIECE(WIRE, OURS)            \
  void write(WIRE::Builder to, const OURS&); \
  OURS read(WIRE::Reader from);

PERIGEE_PIECE(Digest, digest128)
PERIGEE_PIECE(Error, error)

PERIGEE_PIECE(ModelSpec, model_spec)
PERIGEE_PIECE(DataSpec, data_spec)
PERIGEE_PIECE(OptimizerSpec, optimizer_spec)
PERIGEE_PIECE(RateSpec, rate_spec)
PERIGEE_PIECE(Specification, specification)
PERIGEE_PIECE(Wishes, wishes)
PERIGEE_PIECE(JobRecord, job_record)
PERIGEE_PIECE(Submission, submission)
PERIGEE_PIECE(Receipt, receipt)
PERIGEE_PIECE(Subscription, subscription)

PERIGEE_PIECE(Member, member)
PERIGEE_PIECE(Stage, stage)
PERIGEE_PIECE(Plan, plan)
PERIGEE_PIECE(Proposal, proposal)
PERIGEE_PIECE(Acceptance, acceptance)
PERIGEE_PIECE(Refusal, refusal)
PERIGEE_PIECE(Commitment, commitment)

PERIGEE_PIECE(Measurement, measurement)
PERIGEE_PIECE(StateReport, state_report)
PERIGEE_PIECE(Halt, halt)
PERIGEE_PIECE(CommitRecord, commit_record)
PERIGEE_PIECE(PeerWork, peer_work)
PERIGEE_PIECE(Progress, progress)
PERIGEE_PIECE(Account, account)
PERIGEE_PIECE(Remark, remark)
PERIGEE_PIECE(StateRequest, state_request)
PERIGEE_PIECE(Missing, missing)

PERIGEE_PIECE(PeerRecord, peer_record)
PERIGEE_PIECE(Ping, ping)
PERIGEE_PIECE(Pong, pong)
PERIGEE_PIECE(StatusRequest, status_request)
PERIGEE_PIECE(Neighbour, neighbour)
PERIGEE_PIECE(StatusReport, status_report)
PERIGEE_PIECE(Farewell, farewell)

#undef PERIGEE_PIECE

inline job_id read_job(Digest::Reader from) { return job_id{read(from)}; }

// ---- lists ------------------------------------------------------------------------------------

template <class List, class T>
void write_all(List to, const std::vector<T>& from) {
  for (unsigned i = 0; i < from.size(); ++i) {
    if constexpr (requires { to.set(i, from[i]); })
      to.set(i, from[i]);
    else if constexpr (requires { from[i].value; })
      to.set(i, from[i].value);
    else
      write(to[i], from[i]);
  }
}

inline unsigned count_of(const auto& list) { return static_cast<unsigned>(list.size()); }

template <class T, class List>
std::vector<T> read_all(List from, std::size_t count_max, const char* what) {
  if (from.size() > count_max)
    throw error{errc::exhausted, std::to_string(from.size()) + ' ' + what + "; the limit is " +
                                     std::to_string(count_max)};
  std::vector<T> all;
  all.reserve(from.size());
  for (const auto element : from) {
    if constexpr (std::is_arithmetic_v<std::remove_cv_t<decltype(element)>>)
      all.push_back(T{element});
    else
      all.push_back(read(element));
  }
  return all;
}

}  // namespace perigee::wire
