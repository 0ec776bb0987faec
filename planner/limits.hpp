// Every bound of the machines, by name.
#pragma once

#include "proto/base/units.hpp"

#include <cstddef>
#include <cstdint>

namespace perigee::planner::limits {

using namespace std::chrono_literals;

inline constexpr duration ping_period = 500ms;  // on an idle link
inline constexpr duration silence_max = 6s;     // nothing heard for so long: the peer is lost
inline constexpr duration proposal_patience =
    1500ms;  // how long rank r waits for the ranks before it: r times this
inline constexpr duration answer_patience =
    60s;  // for accept or refuse: kernels are built meanwhile
inline constexpr duration wait_remark_after =
    5s;  // a lane that waits so long says for what and for whom
inline constexpr duration account_period = 1s;  // how often a participant tells what it did
inline constexpr std::size_t jobs_max = 64;     // known at once; a further submission is refused
inline constexpr std::size_t subscribers_max = 256;  // of all jobs of a peer
inline constexpr std::size_t layers_max = 4096;
inline constexpr std::size_t peers_max = 4096;
inline constexpr std::uint32_t proposals_max =
    8;  // epochs tried before a job is refused as infeasible
inline constexpr std::uint32_t lanes_max = 256;  // workers of one peer
inline constexpr std::uint32_t micro_batches_max = 65536;

}  // namespace perigee::planner::limits
