// The convolution of few channels: oneDNN's own kernels, images nhwc on both sides.
//
// A product of patches has too short rows here (measured on AVX2: 2 to 8 times slower). Mixed
// layouts would silently choose `ref`, a thousand times slower; such an implementation is refused.
#pragma once

#include "kernels/ops/ops.hpp"

namespace perigee::kernels {

/// `s` is checked. Fails with `unsupported` if oneDNN has nothing but its reference for a pass.
result<op_ptr> make_direct(const conv2d_shape& s);

}  // namespace perigee::kernels
