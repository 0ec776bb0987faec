// Plain loops in f64 for the operators that work on rows: what the tests hold the real ones
// against.
//
// Each pair has the meaning of its operator in kernels/ops/ops.hpp. `saved`, `scratch` and `packed`
// are not touched; backward reads the inputs and does both din (null = not wanted) and dparam.
#pragma once

#include "kernels/ops/ops.hpp"

namespace perigee::kernels::reference {

void attention_forward(const attention_shape& s, const op_call& c);
void attention_backward(const attention_shape& s, const op_call& c);

void layer_norm_forward(const layer_norm_shape& s, const op_call& c);
void layer_norm_backward(const layer_norm_shape& s, const op_call& c);

void softmax_forward(const softmax_shape& s, const op_call& c);
void softmax_backward(const softmax_shape& s, const op_call& c);

void embedding_forward(const embedding_shape& s, const op_call& c);
void embedding_backward(const embedding_shape& s, const op_call& c);

void cross_entropy_forward(const cross_entropy_shape& s, const op_call& c);
void cross_entropy_backward(const cross_entropy_shape& s, const op_call& c);

}  // namespace perigee::kernels::reference
