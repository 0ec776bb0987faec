// The state of lowering one flow (lower.hpp): core in lower.cpp, operators in lower_ops.cpp.
//
// Threads  none is shared.
#pragma once

#include "kernels/model/onnx/lower.hpp"

#include <optional>

namespace perigee::kernels {

class lowering {
public:
  lowering(const flow& f, const lower_options& options) : flow_(f), options_(options) {}
  result<lowered> done();

private:
  using order = std::vector<std::size_t>;
  using lowered_op = result<void> (lowering::*)(const flow_node&);
  struct known_op {
    std::string_view op;
    lowered_op lower;
  };
  static lowered_op find(std::string_view op);

  result<void> place_input();
  result<void> lower_conv(const flow_node& n);
  result<void> lower_batch_norm(const flow_node& n);
  result<void> lower_pool(const flow_node& n);
  result<void> lower_mean(const flow_node& n);
  result<void> lower_linear(const flow_node& n);
  result<void> lower_matmul(const flow_node& n);
  result<void> lower_embedding(const flow_node& n);
  result<void> lower_layer_norm(const flow_node& n);
  result<void> lower_attention(const flow_node& n);
  result<void> lower_softmax(const flow_node& n);
  result<void> lower_activation(const flow_node& n);
  result<void> lower_dropout(const flow_node& n);
  result<void> lower_arithmetic(const flow_node& n);
  result<void> lower_scaled(const flow_node& n, double number, bool number_first);
  result<void> lower_joint(const flow_node& n, broadcast_kind kind);
  result<void> lower_concat(const flow_node& n);
  result<void> lower_slice(const flow_node& n);
  result<void> lower_expand(const flow_node& n);
  result<void> lower_transpose(const flow_node& n);
  result<void> lower_reshape(const flow_node& n);

  [[nodiscard]] const flow_value& value(std::uint32_t v) const { return flow_.values[v]; }
  /// Returns the placement of a flow's value; a parameter becomes a tensor of its own.
  const placement& at(std::uint32_t v);
  /// The same value lying in the order that is asked for, moved if it must be.
  placement arranged(const placement& p, const order& wanted);
  placement plain(std::uint32_t v);
  placement channels_last(std::uint32_t v);

  std::uint32_t add(op_shape shape, std::vector<std::uint32_t> in, std::int64_t count,
                    std::vector<parameter> parameters = {});
  /// Says where the output of `n` lies.
  void define(const flow_node& n, std::uint32_t value, order how);
  /// Returns the parameter that input `i` of a node is, of our shape.
  parameter parameter_of(const flow_node& n, std::size_t i, std::vector<std::int64_t> shape);
  /// Returns whether a ReLU is all that reads the node's output, and takes it in if so: what it
  /// makes is then what the node makes.
  bool takes_relu(const flow_node& n);
  [[nodiscard]] std::optional<double> number(std::uint32_t v) const;

  const flow& flow_;
  const lower_options& options_;
  lowered out_;
  std::map<std::uint32_t, placement> places_;
  std::map<std::pair<std::uint32_t, order>, std::uint32_t> moved_;
  std::map<std::uint32_t, std::uint32_t> taken_;  // output of a taken ReLU -> of what took it
  std::uint32_t stream_ = 0;
};

}  // namespace perigee::kernels
