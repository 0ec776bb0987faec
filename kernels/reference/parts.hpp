// Plain loops for the operators that models from files need: parts of tensors, parameters as
// tensors, multiples. The rules are those of kernels/reference/rows.hpp.
#pragma once

#include "kernels/ops/ops.hpp"

namespace perigee::kernels::reference {

void slice_forward(const slice_shape& s, const op_call& c);
void slice_backward(const slice_shape& s, const op_call& c);

void source_forward(const source_shape& s, const op_call& c);
void source_backward(const source_shape& s, const op_call& c);

void affine_forward(const affine_shape& s, const op_call& c);
void affine_backward(const affine_shape& s, const op_call& c);

}  // namespace perigee::kernels::reference
