// The judges of golden operators: each builds the operator that a file describes, runs it forward
// and backward, and compares every output and gradient.
#pragma once

#include "tests/kernels/golden.hpp"

namespace perigee::kernels::testing {

using judge = void (*)(golden& g, golden_attributes& a);

/// Return the judge of an operator, or null. The first knows the heavy kernels (convolution, batch
/// norm, pools, products), the second our own loops.
[[nodiscard]] judge heavy_judge(const std::string& op);
[[nodiscard]] judge loop_judge(const std::string& op);

}  // namespace perigee::kernels::testing
