// The state of tracing one ONNX graph (trace.hpp); the operators are in trace_*.cpp.
//
// Threads  none is shared.
#pragma once

#include "kernels/model/onnx/fold.hpp"
#include "kernels/model/onnx/trace.hpp"

#include <map>
#include <optional>

namespace perigee::kernels {

class tracer {
public:
  tracer(const onnx_graph& graph, const trace_options& options)
      : graph_(graph), options_(options) {}
  result<flow> traced();

private:
  friend class node_tracer;

  result<void> add_input();
  result<void> add_initializers();
  result<void> trace(const onnx_node& node);

  const onnx_graph& graph_;
  const trace_options& options_;
  std::int64_t file_batch_ = -1;  // what the file fixed the batch to; -1 = open
  flow flow_;
  std::map<std::string, std::uint32_t, std::less<>> names_;
};

struct window;

/// One node under way. Each `trace_…` defines the node's outputs or says why not.
class node_tracer {
public:
  node_tracer(tracer& all, const onnx_node& node) : all_(all), flow_(all.flow_), node_(node) {}
  result<void> trace();

private:
  using traced_op = result<void> (node_tracer::*)();
  struct known_op {
    std::string_view op;
    traced_op trace;
  };
  static traced_op find(std::string_view op);

  // trace_shape.cpp
  result<void> trace_shape();
  result<void> trace_reshape();
  result<void> trace_flatten();
  result<void> trace_squeeze();
  result<void> trace_transpose();
  result<void> trace_concat();
  result<void> trace_split();
  result<void> trace_slice();
  result<void> trace_gather();
  result<void> trace_expand();
  result<void> trace_pass();
  // trace_math.cpp
  result<void> trace_unary();
  result<void> trace_binary();
  result<void> trace_sum();
  result<void> trace_where();
  result<void> trace_mean();
  result<void> trace_softmax();
  result<void> trace_matmul();
  result<void> trace_gemm();
  result<void> trace_layer_norm();
  result<void> trace_dropout();
  // trace_image.cpp
  result<void> trace_conv();
  result<void> trace_batch_norm();
  result<void> trace_pool();
  result<void> trace_global_pool();

  [[nodiscard]] error refuse(const std::string& reason) const {
    return refused(node_.op, node_.name, reason);
  }
  [[nodiscard]] bool has(std::size_t i) const { return i < in_.size() && in_[i] != left_out; }
  [[nodiscard]] const flow_value& value(std::size_t i) const { return flow_.values[in_[i]]; }
  [[nodiscard]] bool is(std::size_t i, flow_kind kind) const {
    return has(i) && value(i).kind == kind;
  }
  [[nodiscard]] std::int64_t number(std::string_view name, std::int64_t otherwise) const;
  [[nodiscard]] double real(std::string_view name, double otherwise) const;
  /// Whole numbers from an attribute or, as later opsets have it, from a constant input.
  result<extents> numbers(std::string_view name, std::size_t input) const;

  result<void> resolve();
  result<void> fold();
  /// Turns a constant of f32 into a parameter of its own; returns whether input `i` is one now.
  bool as_parameter(std::size_t i);
  /// Adds a node over some inputs; returns its value.
  std::uint32_t add(std::string op, std::vector<std::uint32_t> in, extents shape,
                    flow_detail how = {});
  /// Names value `v` the node's output `i`.
  void define(std::size_t i, std::uint32_t v);
  /// Adds a node over the first input, whose output is the node's.
  result<void> define_over_first(std::string op, extents shape, flow_detail how = {});
  result<void> define_reshaped(extents shape);
  result<void> define_sliced(std::uint32_t from, std::size_t axis, slice_range range);
  result<window> window_of(const extents& kernel) const;
  /// The batch of an exported shape, where the file fixed it, becomes ours.
  void rebatch(extents& shape) const;

  static constexpr std::uint32_t left_out = std::numeric_limits<std::uint32_t>::max();
  tracer& all_;
  flow& flow_;
  const onnx_node& node_;
  std::vector<std::uint32_t> in_;
};

}  // namespace perigee::kernels
