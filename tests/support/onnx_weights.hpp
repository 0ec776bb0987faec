// The initial weights of a model exported from PyTorch, read with ONNX's own protobuf schema.
#pragma once

#include "kernels/format/safetensors.hpp"
#include "proto/base/result.hpp"

#include <cstdint>
#include <string>

namespace perigee::test {

struct onnx_model {
  kernels::tensor_file weights;  // the f32 initializers, under their own names
  std::int64_t heads = 0;        // of the first attention: what divides the width; 0 = none found
};

result<onnx_model> read_onnx(const std::string& path);

}  // namespace perigee::test
