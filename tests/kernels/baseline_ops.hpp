// Our own operators compiled once more without clones, so for SSE2 alone: a test can hold what runs
// on this machine against what would run on the plainest one.
#pragma once

#include "kernels/ops/ops.hpp"

namespace perigee::kernels {

result<op_ptr> baseline_make_attention(const attention_shape& s);
result<op_ptr> baseline_make_layer_norm(const layer_norm_shape& s);
result<op_ptr> baseline_make_activation(const activation_shape& s);
result<op_ptr> baseline_make_embedding(const embedding_shape& s);
result<op_ptr> baseline_make_softmax(const softmax_shape& s);
result<op_ptr> baseline_make_residual(const residual_shape& s);
result<op_ptr> baseline_make_broadcast(const broadcast_shape& s);
result<op_ptr> baseline_make_dropout(const dropout_shape& s);
result<op_ptr> baseline_make_cross_entropy(const cross_entropy_shape& s);
result<op_ptr> baseline_make_squared_error(const squared_error_shape& s);
result<op_ptr> baseline_make_source(const source_shape& s);
result<op_ptr> baseline_make_affine(const affine_shape& s);

}  // namespace perigee::kernels
