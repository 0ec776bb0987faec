// An ONNX graph on its way to ours: shapes known, constants computed, one alphabet of operators.
//
// Values keep ONNX's own order of dimensions (images [B,C,H,W]); where they lie in memory is
// decided when the flow is lowered. Operators have ONNX's names where they are ONNX's; what
// patterns make is called Linear, Embedding, LayerNorm, Activation, Attention.
//
// Threads  none is shared; a flow is a value.
#pragma once

#include "kernels/model/onnx/constant.hpp"
#include "kernels/ops/ops.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace perigee::kernels {

enum class flow_kind : std::uint8_t { data, constant, parameter };

struct flow_value {
  std::string name;
  flow_kind kind = flow_kind::data;
  extents shape;
  bool whole = false;        // data: whole numbers, as token ids are
  constant known;            // of a constant
  std::uint32_t tensor = 0;  // of a parameter: which of the flow's tensors
  bool transposed = false;   // of a parameter: a matrix, its tensor has the two dimensions swapped
};

/// What an operator is told beside its inputs; each uses what it needs.
struct flow_detail {
  extents numbers;  // Conv: stride, padding, dilation, groups; pools: kernel, stride, padding;
                    // Transpose: order; Slice: axis, begin; Concat, Softmax: axis
  double low = 0;   // Clip: bounds; HardSigmoid: alpha, beta; norms: epsilon, momentum;
  double high = 0;  // Dropout: low is the probability; Attention: low is the scale
  activation_kind kind = activation_kind::relu;  // of an Activation
  bool causal = false;                           // of an Attention
};

struct flow_node {
  std::string op;
  std::string name;  // of the ONNX node that it came from
  std::vector<std::uint32_t> in;
  std::uint32_t out = 0;
  flow_detail how;
};

inline constexpr std::size_t no_node = std::numeric_limits<std::size_t>::max();

struct flow {
  std::vector<flow_value> values;
  std::vector<flow_node> nodes;       // each reads what stands before it
  std::vector<named_tensor> tensors;  // of the parameters
  std::uint32_t input = 0;
  std::uint32_t output = 0;

  /// Adds a data value.
  std::uint32_t add_value(std::string name, extents shape, bool whole = false);
  /// Returns the node that makes a value, or no_node.
  [[nodiscard]] std::size_t producer(std::uint32_t value) const noexcept;
  /// Returns how often a value is read; the output counts as one more.
  [[nodiscard]] std::size_t uses(std::uint32_t value) const noexcept;
  /// Returns the only node that reads a value, or no_node.
  [[nodiscard]] std::size_t only_user(std::uint32_t value) const noexcept;
  /// Takes out the nodes whose values nobody reads.
  void sweep();
};

/// Returns `unsupported`: the operator, the node's name and the reason.
[[nodiscard]] error refused(const std::string& op, const std::string& name,
                            const std::string& reason);

}  // namespace perigee::kernels
