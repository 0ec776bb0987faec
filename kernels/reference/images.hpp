// Plain loops in f64 for convolution, batch norm, pooling and matrix products: what the tests hold
// the real ones against.
//
// Each pair has the meaning of its operator in kernels/ops/ops.hpp. `saved`, `scratch` and `packed`
// are not touched; backward reads the inputs and does both din (null = not wanted) and dparam.
#pragma once

#include "kernels/ops/ops.hpp"

namespace perigee::kernels::reference {

void conv2d_forward(const conv2d_shape& s, const op_call& c);
void conv2d_backward(const conv2d_shape& s, const op_call& c);

void batch_norm_forward(const batch_norm_shape& s, const op_call& c);
void batch_norm_backward(const batch_norm_shape& s, const op_call& c);

void pool_forward(const pool_shape& s, const op_call& c);
void pool_backward(const pool_shape& s, const op_call& c);

void linear_forward(const linear_shape& s, const op_call& c);
void linear_backward(const linear_shape& s, const op_call& c);

void matmul_forward(const matmul_shape& s, const op_call& c);
void matmul_backward(const matmul_shape& s, const op_call& c);

}  // namespace perigee::kernels::reference
