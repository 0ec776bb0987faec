// A tensor of an ONNX file and its bytes: raw, typed, or in a file beside the model.
//
// Only the readers and writers of ONNX files include this: it brings in protobuf's generated code.
#pragma once

#define ONNX_ML  // Debian's package has only the schema with the ML operators

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wpedantic"
#include <onnx/onnx_pb.h>
#pragma GCC diagnostic pop

#include "kernels/format/safetensors.hpp"

#include <optional>
#include <string>

namespace perigee::kernels {

/// Returns our word for an element type of ONNX, or nothing for those without one.
[[nodiscard]] std::optional<dtype> dtype_of(std::int32_t onnx_type) noexcept;

/// `folder` is where external data may lie.
result<named_tensor> tensor_of(const onnx::TensorProto& from, const std::string& folder);

}  // namespace perigee::kernels
