#define ONNX_ML  // the package has only the schema with the ML operators
#include "tests/support/onnx_weights.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wpedantic"
#include <onnx/onnx_pb.h>
#pragma GCC diagnostic pop

#include <cstring>
#include <fstream>

namespace perigee::test {

namespace {

result<kernels::named_tensor> tensor_of(const onnx::TensorProto& from) {
  kernels::named_tensor t{from.name(), kernels::dtype::f32, {}, {}};
  std::size_t size = sizeof(float);
  for (const std::int64_t extent : from.dims()) {
    t.shape.push_back(extent);
    size *= static_cast<std::size_t>(extent);
  }
  t.data.resize(size);
  const bool raw = from.has_raw_data();
  const std::size_t have =
      raw ? from.raw_data().size() : static_cast<std::size_t>(from.float_data_size()) * 4;
  if (have != size)
    return error{errc::malformed, from.name() + ": " + std::to_string(have) +
                                      " bytes, its shape has " + std::to_string(size)};
  const void* data = raw ? static_cast<const void*>(from.raw_data().data())
                         : static_cast<const void*>(from.float_data().data());
  if (size != 0) std::memcpy(t.data.data(), data, size);
  return t;
}

/// Returns the one integer of a constant, or 0.
std::int64_t integer_of(const onnx::GraphProto& graph, const std::string& output) {
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.op_type() != "Constant" || node.output_size() != 1 || node.output(0) != output)
      continue;
    const onnx::TensorProto& value = node.attribute(0).t();
    if (value.data_type() != onnx::TensorProto::INT64 || value.raw_data().size() != 8) return 0;
    std::int64_t number = 0;
    std::memcpy(&number, value.raw_data().data(), sizeof number);
    return number;
  }
  return 0;
}

/// The width of a head is the width divided by the heads: the first integer division of the graph.
std::int64_t heads_of(const onnx::GraphProto& graph) {
  for (const onnx::NodeProto& node : graph.node())
    if (node.op_type() == "Div" && node.input_size() == 2)
      if (const std::int64_t heads = integer_of(graph, node.input(1)); heads > 0) return heads;
  return 0;
}

}  // namespace

result<onnx_model> read_onnx(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  onnx::ModelProto model;
  if (!file || !model.ParseFromIstream(&file))
    return error{errc::malformed, path + ": not an ONNX model"};
  onnx_model read;
  for (const onnx::TensorProto& initializer : model.graph().initializer()) {
    if (initializer.data_type() != onnx::TensorProto::FLOAT) continue;
    auto tensor = tensor_of(initializer);
    if (!tensor) return tensor.why();
    read.weights.tensors.push_back(std::move(*tensor));
  }
  read.heads = heads_of(model.graph());
  return read;
}

}  // namespace perigee::test
