// An ONNX graph run forward by our operators, for comparison with what others computed.
#pragma once

#include "kernels/format/onnx.hpp"
#include "kernels/model/graph.hpp"

#include <vector>

namespace perigee::test {

/// Values in ONNX's order of dimensions.
struct ran {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

/// Imports the graph for the size of `input` and runs it in evaluation; everything but its first
/// input must be an initializer.
result<ran> run_onnx(const kernels::onnx_graph& graph, const kernels::named_tensor& input);

}  // namespace perigee::test
