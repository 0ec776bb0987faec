// Builders: the models of the list as graphs.
//
//   mlp     fc1, fc2, …: linear with ReLU between; one layer each
//   resnet  CIFAR-style stem, residual blocks with batch norm, pooled head; a block is a layer
//   gpt     embeddings, pre-LN blocks (attention and mlp are a layer each), untied head
//   onnx    what the user's file says (onnx_model.hpp)
//
// Guarantees  parameter names and shapes are those of the PyTorch modules that a user would write;
//             images are taken in memory order [H,W,C] and weights still fit NCHW modules.
// Source      resnet: He et al. 2015, section 4.2; gpt: Radford et al. 2019 (initialisation 0.02,
//             residual projections / sqrt(2 blocks)).
#pragma once

#include "kernels/data/dataset.hpp"
#include "kernels/model/graph.hpp"
#include "proto/job.hpp"

namespace perigee::kernels {

struct build_options {
  std::int64_t samples = 0;  // of a micro-batch
  pass_kind pass = pass_kind::training;
  std::string isa{};
};

/// Fails with `malformed` (a field that its kind needs is missing or out of range) or `unsupported`
/// (the data is not what the model reads); names the field.
result<model_graph> build_model(const model_spec& spec, const dataset_info& data,
                                const build_options& options);

}  // namespace perigee::kernels
