#include "kernels/model/profile.hpp"

namespace perigee::kernels {

namespace {

work_class class_of(const op_shape& shape) {
  if (const auto* s = std::get_if<conv2d_shape>(&shape))
    return s->groups > 1 && s->groups == s->C ? work_class::depthwise : work_class::convolution;
  if (std::holds_alternative<linear_shape>(shape)) return work_class::matrix;
  if (std::holds_alternative<attention_shape>(shape)) return work_class::matrix;
  if (std::holds_alternative<matmul_shape>(shape)) return work_class::matrix;
  return work_class::memory;
}

/// Bytes that an operator without much arithmetic reads and writes in its forward pass.
std::uint64_t moved_bytes(const layer_graph& layer, const node& n) {
  std::uint64_t elements = 0;
  for (const std::uint32_t v : n.in) elements += static_cast<std::uint64_t>(layer.values[v].count);
  if (n.out != no_value) elements += static_cast<std::uint64_t>(layer.values[n.out].count);
  return elements * 4;
}

bytes floats(std::size_t count) { return {std::uint64_t{count} * sizeof(float)}; }

bytes boundary(const layer_graph& layer, std::uint32_t v) {
  return v == no_value ? bytes{} : bytes{static_cast<std::uint64_t>(layer.values[v].count) * 4};
}

}  // namespace

result<std::vector<op_ptr>> build_operators(const layer_graph& layer) {
  std::vector<op_ptr> operators;
  for (std::size_t i = 0; i < layer.nodes.size(); ++i) {
    auto made = make_op(layer.nodes[i].shape);
    if (!made)
      return error{made.why().code, "layer " + layer.name + ", operator " + std::to_string(i) +
                                        ": " + made.why().what};
    operators.push_back(std::move(*made));
  }
  return operators;
}

layer_profile profile_of(const layer_graph& layer, const layer_layout& layout,
                         const layer_program& program, std::span<const op_ptr> operators) {
  layer_profile p;
  p.name = layer.name;
  for (std::size_t i = 0; i < layer.nodes.size(); ++i) {
    const op_needs& needs = operators[i]->needs();
    const work_class kind = class_of(layer.nodes[i].shape);
    const bool memory = kind == work_class::memory;
    const std::uint64_t moved = moved_bytes(layer, layer.nodes[i]);
    const auto at = static_cast<std::size_t>(kind);
    p.forward[at] += memory ? moved : needs.forward_work;
    if (program.nodes[i].runs_backward) p.backward[at] += memory ? 2 * moved : needs.backward_work;
  }
  p.kernel_count = static_cast<std::uint32_t>(layer.nodes.size());
  p.parameter_count = static_cast<std::uint32_t>(layout.parameters.size());
  p.parameters = floats(layout.parameter_floats);
  p.state = floats(layout.state_floats());
  p.gradient = floats(layout.gradient_floats());
  p.statistics = floats(layout.running_floats);
  p.packed = {program.packed_bytes};
  p.kept = {program.kept_bytes};
  if (layer.logits != no_value) p.kept += {(boundary(layer, target_value).count + 63) / 64 * 64};
  p.transient = {program.transient_bytes};
  p.input = boundary(layer, input_value);
  p.output = boundary(layer, layer.output);
  return p;
}

model_profile blank_profile(const specification& spec, std::size_t layers) {
  model_profile m;
  m.layers.resize(layers);
  m.micro_batch_count = micro_batch_count(spec);
  m.slice_size = slice_size(spec);
  m.slice_count = slice_count(spec);
  m.micro_batch_samples = spec.micro_batch;
  return m;
}

}  // namespace perigee::kernels
