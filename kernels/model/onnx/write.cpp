#include "kernels/model/onnx/write.hpp"

#include "kernels/format/onnx.hpp"
#include "kernels/format/onnx_tensor.hpp"
#include "kernels/model/builders.hpp"
#include "kernels/model/layout.hpp"
#include "kernels/model/state.hpp"

#include <cmath>
#include <limits>
#include <map>

namespace perigee::kernels {

namespace {

using words = std::vector<std::string>;

/// Writes nodes one after the other; names of values are `v1`, `v2`, …
class graph_writer {
public:
  explicit graph_writer(onnx::GraphProto& to) : to_(to) {}

  onnx::NodeProto& node(const std::string& op, const words& in, const std::string& out) {
    auto* n = to_.add_node();
    n->set_op_type(op);
    n->set_name("/" + out);
    for (const std::string& name : in) n->add_input(name);
    n->add_output(out);
    return *n;
  }
  std::string add(const std::string& op, const words& in) {
    std::string out = fresh();
    node(op, in, out);
    return out;
  }
  std::string fresh() { return numbered('v', ++count_); }

  static void set(onnx::NodeProto& n, const std::string& name, std::int64_t value) {
    auto* a = n.add_attribute();
    a->set_name(name);
    a->set_type(onnx::AttributeProto::INT);
    a->set_i(value);
  }
  static void set(onnx::NodeProto& n, const std::string& name, float value) {
    auto* a = n.add_attribute();
    a->set_name(name);
    a->set_type(onnx::AttributeProto::FLOAT);
    a->set_f(value);
  }
  static void set(onnx::NodeProto& n, const std::string& name,
                  const std::vector<std::int64_t>& values) {
    auto* a = n.add_attribute();
    a->set_name(name);
    a->set_type(onnx::AttributeProto::INTS);
    for (const std::int64_t x : values) a->add_ints(x);
  }

  std::string constant(const std::vector<std::int64_t>& numbers) {
    auto* t = tensor(onnx::TensorProto::INT64, {static_cast<std::int64_t>(numbers.size())});
    for (const std::int64_t x : numbers) t->add_int64_data(x);
    return t->name();
  }
  std::string constant(float number) {
    auto* t = tensor(onnx::TensorProto::FLOAT, {});
    t->add_float_data(number);
    return t->name();
  }
  /// Where a token must not look: 1 above the diagonal.
  std::string causal_mask(std::int64_t T) {
    auto* t = tensor(onnx::TensorProto::BOOL, {1, 1, T, T});
    for (std::int64_t i = 0; i < T * T; ++i) t->add_int32_data(i % T > i / T ? 1 : 0);
    return t->name();
  }
  void weight(const named_tensor& from) {
    auto* t = to_.add_initializer();
    t->set_name(from.name);
    t->set_data_type(onnx::TensorProto::FLOAT);
    for (const std::int64_t size : from.shape) t->add_dims(size);
    t->set_raw_data(from.data.data(), from.data.size());
  }

private:
  static std::string numbered(char letter, int number) {
    return std::string(1, letter).append(std::to_string(number));
  }

  onnx::TensorProto* tensor(std::int32_t type, const std::vector<std::int64_t>& shape) {
    auto* t = to_.add_initializer();
    t->set_name(numbered('c', ++constants_));
    t->set_data_type(type);
    for (const std::int64_t size : shape) t->add_dims(size);
    return t;
  }

  onnx::GraphProto& to_;
  int count_ = 0, constants_ = 0;
};

/// Writes the operators that our builders use; values of rows are [N,C] or [N,T,C].
class model_writer {
public:
  model_writer(graph_writer& to, bool tokens) : to_(to), tokens_(tokens) {}

  /// Returns the name of what leaves the layer: its boundary, or the logits.
  result<std::string> write(const layer_graph& layer, std::string input) {
    names_.assign(layer.values.size(), "");
    names_[input_value] = std::move(input);
    for (const node& n : layer.nodes) {
      if (n.out == no_value) continue;  // the loss
      const auto ok = std::visit([&](const auto& s) { return operation(s, n); }, n.shape);
      if (!ok) return ok.why();
    }
    return names_[layer.output == no_value ? layer.logits : layer.output];
  }

private:
  [[nodiscard]] const std::string& in(const node& n, std::size_t i = 0) const {
    return names_[n.in[i]];
  }
  std::string relu(const std::string& x, bool wanted) { return wanted ? to_.add("Relu", {x}) : x; }

  template <class Shape>
  result<void> operation(const Shape&, const node&) {
    return error{errc::unsupported, "export: an operator that no model of the list has"};
  }

  result<void> operation(const conv2d_shape& s, const node& n) {
    names_[n.out] = to_.fresh();
    words inputs{in(n)};
    for (const parameter& p : n.parameters) inputs.push_back(p.name);
    auto& conv = to_.node("Conv", inputs, names_[n.out]);
    using g = graph_writer;
    g::set(conv, "kernel_shape", std::vector{s.KH, s.KW});
    g::set(conv, "strides", std::vector{s.stride, s.stride});
    g::set(conv, "pads", std::vector<std::int64_t>(4, s.padding));
    g::set(conv, "dilations", std::vector{s.dilation, s.dilation});
    g::set(conv, "group", s.groups);
    return {};
  }

  result<void> operation(const batch_norm_shape& s, const node& n) {
    const std::string out = to_.fresh();
    auto& norm = to_.node("BatchNormalization",
                          {in(n), n.parameters[0].name, n.parameters[1].name,
                           n.running + ".running_mean", n.running + ".running_var"},
                          out);
    graph_writer::set(norm, "epsilon", s.epsilon);
    graph_writer::set(norm, "momentum", static_cast<float>(1 - n.momentum));
    names_[n.out] = relu(out, s.relu);
    return {};
  }

  result<void> operation(const residual_shape& s, const node& n) {
    names_[n.out] = relu(to_.add("Add", {in(n), in(n, 1)}), s.relu);
    return {};
  }

  result<void> operation(const pool_shape& s, const node& n) {
    if (s.kind != pool_kind::global_average)
      return error{errc::unsupported, "export: a pool that no model of the list has"};
    names_[n.out] = to_.add("Flatten", {to_.add("GlobalAveragePool", {in(n)})});
    return {};
  }

  /// Images lie in ONNX's order there already: what moves them for us does nothing there.
  result<void> operation(const transpose_shape&, const node& n) {
    names_[n.out] = in(n);
    return {};
  }

  result<void> operation(const linear_shape& s, const node& n) {
    if (!tokens_) {
      words inputs{to_.add("Flatten", {in(n)})};
      for (const parameter& p : n.parameters) inputs.push_back(p.name);
      names_[n.out] = to_.fresh();
      graph_writer::set(to_.node("Gemm", inputs, names_[n.out]), "transB", std::int64_t{1});
      return {};
    }
    const std::string weight = to_.fresh();
    graph_writer::set(to_.node("Transpose", {n.parameters[0].name}, weight), "perm",
                      std::vector<std::int64_t>{1, 0});
    names_[n.out] = to_.add("MatMul", {in(n), weight});
    if (s.bias) names_[n.out] = to_.add("Add", {names_[n.out], n.parameters[1].name});
    return {};
  }

  result<void> operation(const activation_shape& s, const node& n) {
    const std::string x = in(n);
    if (s.kind == activation_kind::relu) {
      names_[n.out] = to_.add("Relu", {x});
      return {};
    }
    if (s.kind != activation_kind::gelu_erf)
      return error{errc::unsupported, "export: an activation that no model of the list has"};
    const auto root = to_.add("Div", {x, to_.constant(std::sqrt(2.0F))});
    const auto sum = to_.add("Add", {to_.add("Erf", {root}), to_.constant(1.0F)});
    names_[n.out] = to_.add("Mul", {to_.add("Mul", {x, sum}), to_.constant(0.5F)});
    return {};
  }

  result<void> operation(const embedding_shape& s, const node& n) {
    const auto rows = to_.add("Gather", {n.parameters[0].name, in(n)});
    names_[n.out] = s.T == 0 ? rows : to_.add("Add", {rows, n.parameters[1].name});
    return {};
  }

  result<void> operation(const layer_norm_shape& s, const node& n) {
    names_[n.out] = to_.fresh();
    auto& norm = to_.node("LayerNormalization", {in(n), n.parameters[0].name, n.parameters[1].name},
                          names_[n.out]);
    graph_writer::set(norm, "epsilon", s.epsilon);
    return {};
  }

  result<void> operation(const attention_shape& s, const node& n) {
    const std::string q = to_.fresh(), k = to_.fresh(), v = to_.fresh();
    auto& split = to_.node("Split", {in(n)}, q);
    split.add_output(k);
    split.add_output(v);
    graph_writer::set(split, "axis", std::int64_t{2});
    const auto heads = [&](const std::string& x, const std::vector<std::int64_t>& order) {
      const auto parts =
          to_.add("Reshape", {x, to_.constant(std::vector<std::int64_t>{0, 0, s.heads, s.D})});
      const std::string out = to_.fresh();
      graph_writer::set(to_.node("Transpose", {parts}, out), "perm", order);
      return out;
    };
    const auto product = to_.add("MatMul", {heads(q, {0, 2, 1, 3}), heads(k, {0, 2, 3, 1})});
    const float scale = s.scale != 0 ? s.scale : 1 / std::sqrt(static_cast<float>(s.D));
    auto scores = to_.add("Mul", {product, to_.constant(scale)});
    const float never = -std::numeric_limits<float>::infinity();
    if (s.causal) scores = to_.add("Where", {to_.causal_mask(s.T), to_.constant(never), scores});
    const std::string shares = to_.fresh(), mixed = to_.fresh();
    graph_writer::set(to_.node("Softmax", {scores}, shares), "axis", std::int64_t{-1});
    const auto sums = to_.add("MatMul", {shares, heads(v, {0, 2, 1, 3})});
    graph_writer::set(to_.node("Transpose", {sums}, mixed), "perm",
                      std::vector<std::int64_t>{0, 2, 1, 3});
    names_[n.out] =
        to_.add("Reshape", {mixed, to_.constant(std::vector<std::int64_t>{0, 0, s.heads * s.D})});
    return {};
  }

  graph_writer& to_;
  bool tokens_;
  std::vector<std::string> names_;
};

void declare(onnx::ValueInfoProto& value, const std::string& name, std::int32_t type,
             const std::vector<std::int64_t>& shape) {
  value.set_name(name);
  auto* tensor = value.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  tensor->mutable_shape()->add_dim()->set_dim_param("N");
  for (const std::int64_t size : shape) tensor->mutable_shape()->add_dim()->set_dim_value(size);
}

onnx::ModelProto blank_model() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("perigee");
  model.mutable_graph()->set_name("perigee");
  auto* used = model.add_opset_import();
  used->set_domain("");
  used->set_version(opset_max);
  return model;
}

/// Writes the initializers that the layer names, each checked against its shape.
result<void> write_weights(graph_writer& to, const layer_graph& layer, const tensor_file& weights) {
  const layer_layout layout = layout_of(layer, 0);
  std::vector<float> state(layout.state_floats());
  if (auto ok = read_state(layer, layout, weights, state); !ok) return ok;
  for (const named_tensor& t : written_state(layer, layout, state)) to.weight(t);
  return {};
}

result<std::vector<std::byte>> serialized(const onnx::ModelProto& model) {
  std::vector<std::byte> out(model.ByteSizeLong());
  if (out.size() > onnx_bytes_max ||
      !model.SerializeToArray(out.data(), static_cast<int>(out.size())))
    return error{errc::unsupported, "export: the model is larger than 2 GiB"};
  return out;
}

}  // namespace

result<std::vector<std::byte>> onnx_file_of(const specification& spec, const dataset_info& data,
                                            const tensor_file& weights) {
  if (spec.model.kind == model_kind::onnx) return replaced_weights(spec.model.file, weights);
  const auto built = build_model(spec.model, data, {1, pass_kind::evaluation, {}});
  if (!built) return built.why();
  const bool tokens = data.kind == sample_kind::tokens;
  onnx::ModelProto model = blank_model();
  auto& graph = *model.mutable_graph();
  graph_writer to(graph);
  model_writer writer(to, tokens);
  std::string at = "input";
  for (const layer_graph& layer : built->layers) {
    if (auto ok = write_weights(to, layer, weights); !ok) return ok.why();
    auto name = writer.write(layer, at);
    if (!name) return name.why();
    at = *name;
  }
  using types = onnx::TensorProto;
  const std::vector<std::int64_t> image{data.C, data.H, data.W};
  declare(*graph.add_input(), "input", tokens ? types::INT64 : types::FLOAT,
          tokens ? std::vector{data.T} : image);
  declare(*graph.add_output(), at, types::FLOAT,
          tokens ? std::vector{data.T, data.classes} : std::vector{data.classes});
  return serialized(model);
}

}  // namespace perigee::kernels
