#include "kernels/format/onnx.hpp"

#include "kernels/format/file.hpp"
#include "kernels/format/onnx_tensor.hpp"

#include <filesystem>
#include <limits>
#include <set>

namespace perigee::kernels {

namespace {

/// The same error, behind the name of what was read.
error behind(const std::string& what, const error& why) {
  return {why.code, what + ": " + why.what};
}

result<onnx_attribute> attribute_of(const onnx::AttributeProto& from, const std::string& folder) {
  onnx_attribute a;
  a.name = from.name();
  a.number = from.i();
  a.real = from.f();
  a.word = from.s();
  a.numbers.assign(from.ints().begin(), from.ints().end());
  a.reals.assign(from.floats().begin(), from.floats().end());
  a.has_tensor = from.has_t();
  if (!a.has_tensor) return a;
  auto tensor = tensor_of(from.t(), folder);
  if (!tensor) return tensor.why();
  a.tensor = std::move(*tensor);
  return a;
}

result<onnx_node> node_of(const onnx::NodeProto& from, const std::string& folder) {
  onnx_node n;
  const bool own = from.domain().empty() || from.domain() == "ai.onnx";
  n.op = own ? from.op_type() : from.domain() + "." + from.op_type();
  n.name = from.name();
  n.in.assign(from.input().begin(), from.input().end());
  n.out.assign(from.output().begin(), from.output().end());
  if (n.op.empty()) return error{errc::malformed, "a node without an operator"};
  if (n.out.empty()) return error{errc::malformed, "a node of " + shown(n.op) + " without outputs"};
  for (const auto& attribute : from.attribute()) {
    auto read = attribute_of(attribute, folder);
    if (!read) return behind("node " + shown(n.name), read.why());
    n.attributes.push_back(std::move(*read));
  }
  return n;
}

result<onnx_value> value_of(const onnx::ValueInfoProto& from) {
  onnx_value v;
  v.name = from.name();
  const std::string named = "value " + shown(v.name);
  if (!from.type().has_tensor_type())
    return error{errc::unsupported, named + ": no tensor of numbers"};
  const auto& tensor = from.type().tensor_type();
  const auto type = dtype_of(tensor.elem_type());
  if (!type)
    return error{errc::unsupported, named + ": element type " + std::to_string(tensor.elem_type())};
  v.type = *type;
  for (const auto& dimension : tensor.shape().dim()) {
    const bool known = dimension.has_dim_value();
    if (known && dimension.dim_value() < 0)
      return error{errc::malformed, named + ": a dimension is negative"};
    v.shape.push_back(known ? dimension.dim_value() : -1);
  }
  return v;
}

result<std::int64_t> opset_of(const onnx::ModelProto& model) {
  for (const auto& used : model.opset_import()) {
    if (!used.domain().empty() && used.domain() != "ai.onnx") continue;
    if (used.version() >= opset_min && used.version() <= opset_max) return used.version();
    return error{errc::unsupported,
                 "opset " + std::to_string(used.version()) + "; 9 to 17 are read"};
  }
  return error{errc::malformed, "no opset is named"};
}

result<void> read_graph(const onnx::GraphProto& from, const std::string& folder, onnx_graph& to) {
  std::set<std::string> initialized;
  for (const auto& initializer : from.initializer()) {
    if (initializer.name().empty()) return error{errc::malformed, "an initializer without a name"};
    if (!initialized.insert(initializer.name()).second)
      return error{errc::malformed, "tensor " + shown(initializer.name()) + " is there twice"};
    to.external = to.external || initializer.data_location() == onnx::TensorProto::EXTERNAL;
    auto tensor = tensor_of(initializer, folder);
    if (!tensor) return tensor.why();
    to.initializers.push_back(std::move(*tensor));
  }
  if (from.sparse_initializer_size() > 0) return error{errc::unsupported, "sparse initializers"};
  for (const auto& node : from.node()) {
    auto read = node_of(node, folder);
    if (!read) return read.why();
    to.nodes.push_back(std::move(*read));
  }
  for (const auto& input : from.input()) {
    if (initialized.contains(input.name())) continue;
    auto value = value_of(input);
    if (!value) return value.why();
    to.inputs.push_back(std::move(*value));
  }
  for (const auto& output : from.output()) {
    auto value = value_of(output);
    if (!value) return value.why();
    to.outputs.push_back(std::move(*value));
  }
  return {};
}

result<onnx::ModelProto> parsed(std::span<const std::byte> file) {
  onnx::ModelProto model;
  if (file.size() > onnx_bytes_max)
    return error{errc::unsupported, "larger than 2 GiB: its weights belong in external data"};
  if (!model.ParseFromArray(file.data(), static_cast<int>(file.size())))
    return error{errc::malformed,
                 "not an ONNX model: its bytes are no protobuf message of that kind"};
  if (!model.has_graph()) return error{errc::malformed, "not an ONNX model: no graph"};
  return model;
}

result<std::vector<std::byte>> bytes_of(const std::string& path) {
  const auto file = input_file::open(path);
  if (!file) return file.why();
  if (file->size() > onnx_bytes_max) return error{errc::unsupported, path + ": larger than 2 GiB"};
  std::vector<std::byte> all(file->size());
  if (auto ok = file->read_at(0, all); !ok) return ok.why();
  return all;
}

std::string folder_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

/// Puts the data of `with` in place of an initializer's own.
result<void> replace(onnx::TensorProto& tensor, const named_tensor& with) {
  const std::vector<std::int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  if (dtype_of(tensor.data_type()) != with.type || shape != with.shape)
    return error{errc::malformed, "tensor " + shown(with.name) + " has another shape or type"};
  tensor.clear_float_data();
  tensor.clear_external_data();
  tensor.clear_data_location();
  tensor.set_raw_data(with.data.data(), with.data.size());
  return {};
}

}  // namespace

const onnx_attribute* onnx_node::find(std::string_view attribute) const noexcept {
  for (const onnx_attribute& a : attributes)
    if (a.name == attribute) return &a;
  return nullptr;
}

result<onnx_graph> parse_onnx(std::span<const std::byte> file, const std::string& what,
                              const std::string& folder) {
  const auto model = parsed(file);
  if (!model) return behind(what, model.why());
  onnx_graph graph;
  const auto opset = opset_of(*model);
  if (!opset) return behind(what, opset.why());
  graph.opset = *opset;
  if (auto ok = read_graph(model->graph(), folder, graph); !ok) return behind(what, ok.why());
  return graph;
}

result<onnx_graph> read_onnx(const std::string& path) {
  const auto file = bytes_of(path);
  if (!file) return file.why();
  return parse_onnx(*file, path, folder_of(path));
}

result<named_tensor> parse_onnx_tensor(std::span<const std::byte> file, const std::string& what) {
  onnx::TensorProto tensor;
  if (!tensor.ParseFromArray(file.data(), static_cast<int>(file.size())))
    return error{errc::malformed, what + ": not a tensor"};
  auto read = tensor_of(tensor, "");
  if (!read) return behind(what, read.why());
  return read;
}

result<std::vector<std::byte>> replaced_weights(const std::string& from,
                                                const tensor_file& weights) {
  const auto file = bytes_of(from);
  if (!file) return file.why();
  auto model = parsed(*file);
  if (!model) return behind(from, model.why());
  std::set<std::string> missing;
  for (const named_tensor& t : weights.tensors) missing.insert(t.name);
  for (auto& tensor : *model->mutable_graph()->mutable_initializer()) {
    if (const named_tensor* with = weights.find(tensor.name()); with != nullptr) {
      if (auto ok = replace(tensor, *with); !ok) return behind(from, ok.why());
      missing.erase(tensor.name());
    } else if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
      const auto own = tensor_of(tensor, folder_of(from));
      if (!own) return behind(from, own.why());
      if (auto ok = replace(tensor, *own); !ok) return behind(from, ok.why());
    }
  }
  if (!missing.empty())
    return error{errc::malformed, from + ": no tensor " + shown(*missing.begin())};
  std::vector<std::byte> out(model->ByteSizeLong());
  if (out.size() > onnx_bytes_max ||
      !model->SerializeToArray(out.data(), static_cast<int>(out.size())))
    return error{errc::unsupported, from + ": with its weights larger than 2 GiB"};
  return out;
}

}  // namespace perigee::kernels
