// What exporters spell out in many small operators, recognised: each pattern becomes the one
// operator that we have a kernel for.
//
// Threads  any; each works on the flow it is given.
#pragma once

#include "kernels/model/onnx/flow.hpp"

namespace perigee::kernels {

/// Element-wise operators that together are one of our activations. Recognised by what they
/// compute, not by how it is written: the group is evaluated and compared with each activation.
void find_activations(flow& f);

/// Mean, difference, variance, root, scale and bias: LayerNorm.
void find_layer_norms(flow& f);

/// A bias added to a Linear, positions added to an Embedding: inputs of these.
void find_biases(flow& f);

/// softmax(q · kᵀ * scale + mask) · v: Attention, packed where q, k and v are parts of one value.
/// Fails with `unsupported` if the mask is neither empty nor causal.
result<void> find_attentions(flow& f);

/// A softmax at the end: the loss takes what stands before it.
void drop_last_softmax(flow& f);

/// All of them, in the order in which they build on one another.
result<void> find_patterns(flow& f);

}  // namespace perigee::kernels
