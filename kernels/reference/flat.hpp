// Plain loops in f64 for the operators that work value by value or move values: what the tests hold
// the real ones against. The rules are those of kernels/reference/rows.hpp.
#pragma once

#include "kernels/ops/ops.hpp"
#include "kernels/optimizer/optimizer.hpp"

namespace perigee::kernels::reference {

void activation_forward(const activation_shape& s, const op_call& c);
void activation_backward(const activation_shape& s, const op_call& c);

void residual_forward(const residual_shape& s, const op_call& c);
void residual_backward(const residual_shape& s, const op_call& c);

void broadcast_forward(const broadcast_shape& s, const op_call& c);
void broadcast_backward(const broadcast_shape& s, const op_call& c);

void concat_forward(const concat_shape& s, const op_call& c);
void concat_backward(const concat_shape& s, const op_call& c);

void transpose_forward(const transpose_shape& s, const op_call& c);
void transpose_backward(const transpose_shape& s, const op_call& c);

void dropout_forward(const dropout_shape& s, const op_call& c);
void dropout_backward(const dropout_shape& s, const op_call& c);

void squared_error_forward(const squared_error_shape& s, const op_call& c);
void squared_error_backward(const squared_error_shape& s, const op_call& c);

/// optimizer::update in f64; parameter and moments are f32 between steps.
void update(const optimizer_spec& spec, const update_call& call);

}  // namespace perigee::kernels::reference
