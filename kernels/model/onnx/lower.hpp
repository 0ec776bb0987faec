// From a flow to our operators: decides where every value lies and makes one long layer, to be cut
// afterwards.
//
// Images lie as [B,H,W,C]; values move (a transpose) only where an operator needs them otherwise.
// ReLU joins the batch norm or the sum before it.
//
// Threads  any; pure functions.
#pragma once

#include "kernels/model/graph.hpp"
#include "kernels/model/onnx/flow.hpp"
#include "kernels/model/onnx/placement.hpp"

#include <map>

namespace perigee::kernels {

/// How the samples lie in memory.
enum class sample_order : std::uint8_t {
  plain,         // as the model's input says
  channels_last  // images [H,W,C], which the model takes as [C,H,W] or as rows of C·H·W
};

struct lower_options {
  pass_kind pass = pass_kind::training;
  std::string isa{};
  sample_order samples = sample_order::plain;
  extents image{};  // channels last: C, H, W
};

struct lowered {
  layer_graph whole;  // no output, logits or targets yet
  placement output;
  /// For each tensor that the graph names (parameters, running statistics): which of the flow's.
  std::map<std::string, std::uint32_t> tensors;
};

/// Fails with `unsupported`: operator, node, reason.
result<lowered> lowered_of(const flow& f, const lower_options& options);

}  // namespace perigee::kernels
