// What this machine is to the planner: how fast one lane is, and which other machines have its
// bits.
//
// Guarantees  kernels of two peers with equal fingerprints give equal bits for equal inputs.
// Threads     `calibrate` measures the calling thread; the others may run anywhere.
#pragma once

#include "proto/base/result.hpp"
#include "proto/model_profile.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace perigee::kernels {

struct calibration {
  speed rate{};  // of one lane
  std::uint64_t fingerprint = 0;
};

/// Measures for at most 0.4 s and leaves the thread a lane (`enter_lane`). The fingerprint hashes
/// oneDNN's version, the effective instruction set, the cache sizes and the results of fixed small
/// kernels; it does not depend on the measured speed.
calibration calibrate();

/// Holds oneDNN to an instruction set (`avx2`); only before the first kernel of the process. Fails
/// with `unsupported` if the name is unknown (the error lists the names) or it is too late.
result<void> cap_isa(std::string_view isa);

/// Returns the name of the instruction set that oneDNN uses.
std::string effective_isa();

/// Fails with `unsupported` if `cap` is unknown or this process uses more than it; empty = no cap.
result<void> within_isa(std::string_view cap);

}  // namespace perigee::kernels
