#include "tests/support/onnx_maker.hpp"

#include "kernels/format/onnx_tensor.hpp"
#include "proto/base/hash.hpp"
#include "proto/base/random.hpp"

namespace perigee::test {

struct onnx_maker::parts {
  onnx::ModelProto model;
  onnx::NodeProto next;

  onnx::TensorProto& tensor(const std::string& name, std::int32_t type,
                            const std::vector<std::int64_t>& shape) {
    auto* t = model.mutable_graph()->add_initializer();
    t->set_name(name);
    t->set_data_type(type);
    for (const std::int64_t size : shape) t->add_dims(size);
    return *t;
  }
  void input(const std::string& name, std::int32_t type, const std::vector<std::int64_t>& shape) {
    auto* in = model.mutable_graph()->add_input();
    in->set_name(name);
    auto* tensor = in->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    for (const std::int64_t size : shape) {
      auto* dimension = tensor->mutable_shape()->add_dim();
      size < 0 ? dimension->set_dim_param("N") : dimension->set_dim_value(size);
    }
  }
};

onnx_maker::onnx_maker(std::int64_t opset) : parts_(std::make_shared<parts>()) {
  parts_->model.set_ir_version(7);
  parts_->model.mutable_graph()->set_name("made");
  auto* used = parts_->model.add_opset_import();
  used->set_domain("");
  used->set_version(opset);
}
onnx_maker::~onnx_maker() = default;

onnx_maker& onnx_maker::input(const std::string& name, const std::vector<std::int64_t>& shape) {
  parts_->input(name, onnx::TensorProto::FLOAT, shape);
  return *this;
}

onnx_maker& onnx_maker::token_input(const std::string& name,
                                    const std::vector<std::int64_t>& shape) {
  parts_->input(name, onnx::TensorProto::INT64, shape);
  return *this;
}

onnx_maker& onnx_maker::output(const std::string& name) {
  auto* out = parts_->model.mutable_graph()->add_output();
  out->set_name(name);
  out->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  return *this;
}

onnx_maker& onnx_maker::weight(const std::string& name, const std::vector<std::int64_t>& shape) {
  auto& t = parts_->tensor(name, onnx::TensorProto::FLOAT, shape);
  random draw(1, purpose::weights, hash_of(name));
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  for (std::int64_t i = 0; i < count; ++i) t.add_float_data(draw.uniform() * 0.6F - 0.2F);
  return *this;
}

onnx_maker& onnx_maker::numbers(const std::string& name, const std::vector<std::int64_t>& values) {
  auto& t =
      parts_->tensor(name, onnx::TensorProto::INT64, {static_cast<std::int64_t>(values.size())});
  for (const std::int64_t x : values) t.add_int64_data(x);
  return *this;
}

onnx_maker& onnx_maker::reals(const std::string& name, const std::vector<std::int64_t>& shape,
                              const std::vector<float>& values) {
  auto& t = parts_->tensor(name, onnx::TensorProto::FLOAT, shape);
  for (const float x : values) t.add_float_data(x);
  return *this;
}

onnx_maker& onnx_maker::truths(const std::string& name, const std::vector<std::int64_t>& shape,
                               const std::vector<bool>& values) {
  auto& t = parts_->tensor(name, onnx::TensorProto::BOOL, shape);
  for (const bool x : values) t.add_int32_data(x ? 1 : 0);
  return *this;
}

onnx_maker& onnx_maker::external(const std::string& name, const std::vector<std::int64_t>& shape,
                                 const std::string& location) {
  auto& t = parts_->tensor(name, onnx::TensorProto::FLOAT, shape);
  t.set_data_location(onnx::TensorProto::EXTERNAL);
  auto* entry = t.add_external_data();
  entry->set_key("location");
  entry->set_value(location);
  return *this;
}

onnx_maker& onnx_maker::with(const std::string& name, std::int64_t value) {
  auto* a = parts_->next.add_attribute();
  a->set_name(name);
  a->set_type(onnx::AttributeProto::INT);
  a->set_i(value);
  return *this;
}

onnx_maker& onnx_maker::with(const std::string& name, const std::vector<std::int64_t>& values) {
  auto* a = parts_->next.add_attribute();
  a->set_name(name);
  a->set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t x : values) a->add_ints(x);
  return *this;
}

onnx_maker& onnx_maker::with(const std::string& name, float value) {
  auto* a = parts_->next.add_attribute();
  a->set_name(name);
  a->set_type(onnx::AttributeProto::FLOAT);
  a->set_f(value);
  return *this;
}

onnx_maker& onnx_maker::node(const std::string& op, const std::vector<std::string>& in,
                             const std::string& out) {
  auto& n = parts_->next;
  n.set_op_type(op);
  n.set_name("/" + out);
  for (const std::string& name : in) n.add_input(name);
  n.add_output(out);
  *parts_->model.mutable_graph()->add_node() = n;
  n.Clear();
  return *this;
}

std::string onnx_maker::file() const { return parts_->model.SerializeAsString(); }

std::vector<std::byte> onnx_maker::bytes() const {
  const std::string all = file();
  const auto* first = reinterpret_cast<const std::byte*>(all.data());
  return {first, first + all.size()};
}

}  // namespace perigee::test
