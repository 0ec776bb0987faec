// A model that its owner brings as an ONNX file: our layers and the initial weights from it.
//
// Guarantees  parameters have the names and shapes of the file, which are those of the module that
//             was exported.
// Threads     any; pure functions of their arguments and of the file.
#pragma once

#include "kernels/format/onnx.hpp"
#include "kernels/model/builders.hpp"

namespace perigee::kernels {

/// Reads the file of `spec` and checks its content against the specification's, if that names one.
/// Fails with `io`, `malformed` or `unsupported`.
result<onnx_graph> read_model(const model_spec& spec);

/// Returns the digest of a model file's bytes and of what it keeps beside itself.
result<digest128> content_of_model(const std::string& path);

/// Returns the tokens a sample that the file fixes; 0 if it leaves them open or reads images.
[[nodiscard]] std::int64_t context_of(const onnx_graph& graph) noexcept;

/// Fails with `unsupported` or `malformed`; the error names operator and node.
result<model_graph> imported(const onnx_graph& graph, const model_spec& spec,
                             const dataset_info& data, const build_options& options);

/// Returns the kind, shape and classes of data that the model takes, with no samples.
result<dataset_info> data_for(const onnx_graph& graph, const model_spec& spec);

/// Returns parameters and running statistics as the file has them.
result<tensor_file> weights_in(const onnx_graph& graph, const model_spec& spec);

}  // namespace perigee::kernels
