// The convolution whose every channel has a window of its own: bound by memory, not by arithmetic,
// so plain loops over channels do better than oneDNN's nhwc kernel (measured on AVX2: 3 times).
#pragma once

#include "kernels/ops/ops.hpp"

namespace perigee::kernels {

/// `s` is checked, and groups = C = N.
op_ptr make_depthwise(const conv2d_shape& s);

}  // namespace perigee::kernels
