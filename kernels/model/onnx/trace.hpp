// From an ONNX graph to a flow: follows the nodes in order for one batch size, infers every shape,
// computes what is constant, and refuses what we do not train.
//
// Which initializers are parameters: numbers of f32 that are the weights of an operator. They may
// be transposed on the way, nothing else; what is computed from one is refused, since training
// would not reach it.
//
// Threads  any; pure functions.
#pragma once

#include "kernels/model/onnx/flow.hpp"

namespace perigee::kernels {

struct trace_options {
  std::int64_t samples = 1;
  std::int64_t context = 0;  // tokens a sample, for an input that leaves them open; 0 = unknown
};

/// Fails with `malformed` (the graph contradicts itself) or `unsupported` (operator, node, reason).
result<flow> traced(const onnx_graph& graph, const trace_options& options);

}  // namespace perigee::kernels
