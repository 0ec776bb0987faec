// ONNX model files: read strictly into plain structs.
//
// Guarantees  what is returned is well formed: opset 9 to 17 of the default domain, tensors whose
//             bytes are what their shapes say, external data inside the model's own folder.
//             Anything else is refused with one line; no input, however broken, does more.
// Threads     any; pure functions of their arguments and of the files that they name.
// Source      https://github.com/onnx/onnx, onnx.proto and docs/ExternalData.md; the schema is that
//             of Debian's libonnx.
#pragma once

#include "kernels/format/safetensors.hpp"
#include "proto/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace perigee::kernels {

/// One attribute; what is not of its kind stays empty.
struct onnx_attribute {
  std::string name;
  std::int64_t number = 0;
  float real = 0;
  std::string word;
  std::vector<std::int64_t> numbers;
  std::vector<float> reals;
  named_tensor tensor;
  bool has_tensor = false;
};

struct onnx_node {
  std::string op;               // e.g. `Conv`; of another domain than ONNX's own `domain.Conv`
  std::string name;             // may be empty
  std::vector<std::string> in;  // an empty name = left out
  std::vector<std::string> out;
  std::vector<onnx_attribute> attributes;

  /// Returns the attribute of that name, or null.
  [[nodiscard]] const onnx_attribute* find(std::string_view attribute) const noexcept;
};

/// An input or output of the graph.
struct onnx_value {
  std::string name;
  dtype type = dtype::f32;
  std::vector<std::int64_t> shape;  // -1 = any
};

struct onnx_graph {
  std::int64_t opset = 0;
  std::vector<onnx_node> nodes;
  std::vector<named_tensor> initializers;
  std::vector<onnx_value> inputs;  // without those that are initializers
  std::vector<onnx_value> outputs;
  bool external = false;  // some initializers lie in files of their own
};

/// What is refused beyond these is no model that we could train.
inline constexpr std::uint64_t onnx_bytes_max = (std::uint64_t{1} << 31U) - 1;  // protobuf's own
inline constexpr std::int64_t opset_min = 9;
inline constexpr std::int64_t opset_max = 17;

/// Reads a file. Fails with `io`, `malformed` or `unsupported`; the error begins with the path.
result<onnx_graph> read_onnx(const std::string& path);

/// The same for bytes in memory: `what` names them in errors, external data lie in `folder`.
result<onnx_graph> parse_onnx(std::span<const std::byte> file, const std::string& what,
                              const std::string& folder);

/// Reads one tensor alone, as ONNX's own test cases keep them.
result<named_tensor> parse_onnx_tensor(std::span<const std::byte> file, const std::string& what);

/// Returns a copy of the model file `from` in which each initializer that `weights` has is
/// replaced by its data; external data come inside. Fails as reading does, with `malformed` if a
/// tensor has another shape or type, or if `weights` has one that the file lacks.
result<std::vector<std::byte>> replaced_weights(const std::string& from,
                                                const tensor_file& weights);

}  // namespace perigee::kernels
