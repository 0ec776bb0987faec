// A golden run trained by us, step by step against PyTorch's losses, norms and final weights.
#pragma once

#include "tests/support/golden_run.hpp"

#include <string>
#include <vector>

namespace perigee::test {

/// Returns the folders of all golden runs, sorted.
[[nodiscard]] std::vector<std::string> golden_folders();

/// Trains `run` as its specification says and checks every step and the final weights. The share
/// is what final weights may be off, of each tensor's largest value.
void check_golden_run(const golden_run& run, double share);

}  // namespace perigee::test
