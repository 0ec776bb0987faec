#include "kernels/model/onnx/trace.hpp"

#include "kernels/format/file.hpp"
#include "kernels/model/onnx/tracer.hpp"
#include "kernels/ops/shape_check.hpp"

#include <algorithm>

namespace perigee::kernels {

namespace {

error malformed(std::string what) { return {errc::malformed, std::move(what)}; }

}  // namespace

// --- the graph
// -------------------------------------------------------------------------------------

result<void> tracer::add_input() {
  if (graph_.inputs.size() != 1)
    return error{errc::unsupported, "the graph has " + std::to_string(graph_.inputs.size()) +
                                        " inputs; one is trained on"};
  const onnx_value& input = graph_.inputs.front();
  const bool ids = input.type == dtype::i64 || input.type == dtype::i32;
  if (!ids && input.type != dtype::f32)
    return error{errc::unsupported, "input " + shown(input.name) + " is " +
                                        std::string(text(input.type)) +
                                        "; F32, I64 or I32 are read"};
  if (input.shape.empty() || input.shape.size() > 6)
    return error{errc::unsupported, "input " + shown(input.name) + " has " +
                                        std::to_string(input.shape.size()) + " dimensions"};
  extents shape = input.shape;
  file_batch_ = shape[0];
  shape[0] = options_.samples;
  if (ids && shape.size() == 2 && shape[1] == -1 && options_.context > 0)
    shape[1] = options_.context;
  for (std::size_t d = 1; d < shape.size(); ++d)
    if (shape[d] < 1)
      return error{errc::unsupported, "input " + shown(input.name) + ": dimension " +
                                          std::to_string(d) + " is left open" +
                                          (ids ? "; set model.context" : "")};
  if (capped_count(shape) >= count_cap)
    return error{errc::unsupported, "input " + shown(input.name) + " is too large"};
  flow_.input = flow_.add_value(input.name, shape, ids);
  names_[input.name] = flow_.input;
  return {};
}

result<void> tracer::add_initializers() {
  for (const named_tensor& t : graph_.initializers) {
    flow_value v;
    v.name = t.name;
    v.shape = t.shape;
    const bool one = capped_count(t.shape) == 1;
    const bool weight = t.name.ends_with(".weight") || t.name.ends_with(".bias");
    if (t.type == dtype::f32 && (!one || weight)) {
      v.kind = flow_kind::parameter;
      v.tensor = static_cast<std::uint32_t>(flow_.tensors.size());
      flow_.tensors.push_back(t);
    } else {
      auto known = constant_of(t);
      if (!known)
        return error{errc::unsupported, "tensor " + shown(t.name) + ": " +
                                            std::string(text(t.type)) + " of shape " +
                                            shape_text(t.shape) + " is not read"};
      v.kind = flow_kind::constant;
      v.known = std::move(*known);
    }
    names_[t.name] = static_cast<std::uint32_t>(flow_.values.size());
    flow_.values.push_back(std::move(v));
  }
  return {};
}

result<flow> tracer::traced() {
  if (auto ok = add_input(); !ok) return ok.why();
  if (auto ok = add_initializers(); !ok) return ok.why();
  for (const onnx_node& node : graph_.nodes)
    if (auto ok = node_tracer(*this, node).trace(); !ok) return ok.why();
  if (graph_.outputs.size() != 1)
    return error{errc::unsupported, "the graph has " + std::to_string(graph_.outputs.size()) +
                                        " outputs; one is trained on"};
  const auto found = names_.find(graph_.outputs.front().name);
  if (found == names_.end() || flow_.values[found->second].kind != flow_kind::data)
    return malformed("output " + shown(graph_.outputs.front().name) +
                     " does not depend on the input");
  flow_.output = found->second;
  flow_.sweep();
  return std::move(flow_);
}

// --- a node
// ----------------------------------------------------------------------------------------

std::int64_t node_tracer::number(std::string_view name, std::int64_t otherwise) const {
  const auto* a = node_.find(name);
  return a == nullptr ? otherwise : a->number;
}

double node_tracer::real(std::string_view name, double otherwise) const {
  const auto* a = node_.find(name);
  return a == nullptr ? otherwise : double{a->real};
}

result<extents> node_tracer::numbers(std::string_view name, std::size_t input) const {
  if (const auto* a = node_.find(name); a != nullptr) return a->numbers;
  if (!has(input)) return extents{};
  if (!is(input, flow_kind::constant))
    return refuse(std::string(name) + " is computed from the data");
  return whole_numbers(value(input).known);
}

std::uint32_t node_tracer::add(std::string op, std::vector<std::uint32_t> in, extents shape,
                               flow_detail how) {
  bool whole = !in.empty();
  for (const std::uint32_t v : in)
    whole = whole && (flow_.values[v].kind != flow_kind::data || flow_.values[v].whole);
  if (op == "Embedding") whole = false;
  const auto out = flow_.add_value(node_.out[0], std::move(shape), whole);
  flow_.nodes.push_back({std::move(op), node_.name, std::move(in), out, std::move(how)});
  return out;
}

void node_tracer::define(std::size_t i, std::uint32_t v) {
  if (i < node_.out.size() && !node_.out[i].empty()) all_.names_[node_.out[i]] = v;
}

result<void> node_tracer::define_over_first(std::string op, extents shape, flow_detail how) {
  define(0, add(std::move(op), {in_[0]}, std::move(shape), std::move(how)));
  return {};
}

void node_tracer::rebatch(extents& shape) const {
  const auto& from = value(0).shape;
  if (shape.empty() || from.empty() || all_.file_batch_ < 1) return;
  if (shape[0] == all_.file_batch_ && from[0] == all_.options_.samples) shape[0] = from[0];
}

bool node_tracer::as_parameter(std::size_t i) {
  if (!has(i)) return false;
  flow_value& v = flow_.values[in_[i]];
  if (v.kind == flow_kind::constant && v.known.type == dtype::f32) {
    v.kind = flow_kind::parameter;
    v.tensor = static_cast<std::uint32_t>(flow_.tensors.size());
    flow_.tensors.push_back(tensor_of(v.known, v.name));
  }
  return v.kind == flow_kind::parameter;
}

result<void> node_tracer::resolve() {
  for (const std::string& name : node_.in) {
    const auto found = all_.names_.find(name);
    if (found == all_.names_.end() && !name.empty())
      return malformed("node " + shown(node_.name) + " reads " + shown(name) +
                       ", which is not there");
    in_.push_back(name.empty() ? left_out : found->second);
  }
  for (const std::string& name : node_.out)
    if (!name.empty() && all_.names_.contains(name))
      return malformed("node " + shown(node_.name) + " makes " + shown(name) +
                       ", which is there already");
  return {};
}

result<void> node_tracer::fold() {
  std::vector<const constant*> known;
  for (std::size_t i = 0; i < in_.size(); ++i) known.push_back(has(i) ? &value(i).known : nullptr);
  auto out = folded(node_, known, all_.graph_.opset);
  if (!out) return refused(node_.op, node_.name, out.why().what);
  flow_value v;
  v.name = node_.out[0];
  v.kind = flow_kind::constant;
  v.shape = out->shape;
  v.known = std::move(*out);
  flow_.values.push_back(std::move(v));
  define(0, static_cast<std::uint32_t>(flow_.values.size() - 1));
  return {};
}

result<void> node_tracer::trace() {
  if (auto ok = resolve(); !ok) return ok;
  if (node_.op == "Constant") {
    const auto* a = node_.attributes.size() == 1 ? &node_.attributes.front() : nullptr;
    std::optional<constant> known;
    if (a != nullptr && a->name == "value" && a->has_tensor) known = constant_of(a->tensor);
    if (a != nullptr && a->name == "value_float")
      known = constant{dtype::f32, {}, {double{a->real}}};
    if (a != nullptr && a->name == "value_int")
      known = constant{dtype::i64, {}, {static_cast<double>(a->number)}};
    if (!known) return refuse("its value is not a tensor of F32, I64, I32 or BOOL");
    flow_value v;
    v.name = node_.out[0];
    v.kind = flow_kind::constant;
    v.shape = known->shape;
    v.known = std::move(*known);
    flow_.values.push_back(std::move(v));
    define(0, static_cast<std::uint32_t>(flow_.values.size() - 1));
    return {};
  }
  bool all_known = true;
  for (std::size_t i = 0; i < in_.size(); ++i)
    all_known = all_known && (!has(i) || is(i, flow_kind::constant));
  const traced_op known = find(node_.op);
  if (all_known && node_.op != "Shape" && node_.op != "Dropout" && (!in_.empty())) return fold();
  if (known == nullptr) return refuse("not supported");
  if (!has(0)) return malformed("node " + shown(node_.name) + " has no first input");
  return (this->*known)();
}

node_tracer::traced_op node_tracer::find(std::string_view op) {
  using t = node_tracer;
  static constexpr known_op all[] = {{"Shape", &t::trace_shape},
                                     {"Reshape", &t::trace_reshape},
                                     {"Flatten", &t::trace_flatten},
                                     {"Squeeze", &t::trace_squeeze},
                                     {"Unsqueeze", &t::trace_squeeze},
                                     {"Transpose", &t::trace_transpose},
                                     {"Concat", &t::trace_concat},
                                     {"Split", &t::trace_split},
                                     {"Slice", &t::trace_slice},
                                     {"Gather", &t::trace_gather},
                                     {"Expand", &t::trace_expand},
                                     {"Identity", &t::trace_pass},
                                     {"Cast", &t::trace_pass},
                                     {"Relu", &t::trace_unary},
                                     {"Erf", &t::trace_unary},
                                     {"Sqrt", &t::trace_unary},
                                     {"Exp", &t::trace_unary},
                                     {"Tanh", &t::trace_unary},
                                     {"Sigmoid", &t::trace_unary},
                                     {"Neg", &t::trace_unary},
                                     {"Reciprocal", &t::trace_unary},
                                     {"Clip", &t::trace_unary},
                                     {"HardSigmoid", &t::trace_unary},
                                     {"HardSwish", &t::trace_unary},
                                     {"Add", &t::trace_binary},
                                     {"Sub", &t::trace_binary},
                                     {"Mul", &t::trace_binary},
                                     {"Div", &t::trace_binary},
                                     {"Pow", &t::trace_binary},
                                     {"Min", &t::trace_binary},
                                     {"Max", &t::trace_binary},
                                     {"Sum", &t::trace_sum},
                                     {"Where", &t::trace_where},
                                     {"ReduceMean", &t::trace_mean},
                                     {"Softmax", &t::trace_softmax},
                                     {"LogSoftmax", &t::trace_softmax},
                                     {"MatMul", &t::trace_matmul},
                                     {"Gemm", &t::trace_gemm},
                                     {"LayerNormalization", &t::trace_layer_norm},
                                     {"Dropout", &t::trace_dropout},
                                     {"Conv", &t::trace_conv},
                                     {"BatchNormalization", &t::trace_batch_norm},
                                     {"MaxPool", &t::trace_pool},
                                     {"AveragePool", &t::trace_pool},
                                     {"GlobalAveragePool", &t::trace_global_pool}};
  for (const known_op& known : all)
    if (known.op == op) return known.trace;
  return nullptr;
}

result<flow> traced(const onnx_graph& graph, const trace_options& options) {
  return tracer(graph, options).traced();
}

}  // namespace perigee::kernels
