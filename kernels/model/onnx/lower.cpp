#include "kernels/model/onnx/lower.hpp"

#include "kernels/format/file.hpp"
#include "kernels/model/onnx/lowering.hpp"
#include "kernels/ops/shape_check.hpp"

#include <algorithm>

namespace perigee::kernels {

namespace {

const std::vector<std::size_t> image_order{0, 2, 3, 1};

}  // namespace

result<void> lowering::place_input() {
  const flow_value& in = value(flow_.input);
  const std::int64_t count = capped_count(in.shape);
  out_.whole.values.push_back({count, in.whole ? element::i32 : element::f32});
  placement p{input_value, in.shape, plain_order(in.shape.size())};
  if (options_.samples == sample_order::channels_last) {
    extents image = options_.image;
    image.insert(image.begin(), in.shape[0]);
    if (capped_count(image) != count)
      return error{errc::unsupported, "model: its input is " + shape_text(in.shape) +
                                          ", the data are images " + shape_text(options_.image)};
    p = arranged({input_value, image, image_order},
                 in.shape == image ? image_order : plain_order(4));
    if (auto same = reshaped(p, in.shape)) p = *same;
  }
  places_[flow_.input] = p;
  return {};
}

std::uint32_t lowering::add(op_shape shape, std::vector<std::uint32_t> in, std::int64_t count,
                            std::vector<parameter> parameters) {
  const auto out = static_cast<std::uint32_t>(out_.whole.values.size());
  out_.whole.values.push_back({count, element::f32});
  out_.whole.nodes.push_back({std::move(shape), std::move(in), out, std::move(parameters), {}});
  return out;
}

void lowering::define(const flow_node& n, std::uint32_t v, order how) {
  places_[n.out] = {v, value(n.out).shape, std::move(how)};
  if (const auto relu = taken_.find(n.out); relu != taken_.end())
    places_[relu->second] = places_[n.out];
}

bool lowering::takes_relu(const flow_node& n) {
  const std::size_t user = flow_.only_user(n.out);
  if (user == no_node) return false;
  const flow_node& relu = flow_.nodes[user];
  if (relu.op != "Activation" || relu.how.kind != activation_kind::relu) return false;
  taken_[n.out] = relu.out;
  return true;
}

parameter lowering::parameter_of(const flow_node& n, std::size_t i,
                                 std::vector<std::int64_t> shape) {
  const flow_value& v = value(n.in[i]);
  const named_tensor& tensor = flow_.tensors[v.tensor];
  out_.tensors[tensor.name] = v.tensor;
  parameter p{tensor.name, std::move(shape), {}, v.transposed};
  // A view may be a part of its tensor that stands first; the state holds all of it.
  if (!v.transposed) p.shape = tensor.shape;
  return p;
}

const placement& lowering::at(std::uint32_t v) {
  const auto found = places_.find(v);
  if (found != places_.end()) return found->second;
  const flow_value& from = value(v);
  const std::int64_t count = capped_count(from.shape);
  const flow_node as_node{"", "", {v}, 0, {}};
  const auto made = add(source_shape{count, 1}, {}, count, {parameter_of(as_node, 0, from.shape)});
  return places_[v] = {made, from.shape, plain_order(from.shape.size())};
}

placement lowering::arranged(const placement& p, const order& wanted) {
  placement out{p.value, p.shape, wanted};
  if (same_order(p.shape, p.order, wanted)) return out;
  const auto known = moved_.find({p.value, wanted});
  if (known != moved_.end()) {
    out.value = known->second;
    return out;
  }
  transpose_shape move{p.in_memory(), {}};
  for (const std::size_t d : wanted)
    move.order.push_back(std::find(p.order.begin(), p.order.end(), d) - p.order.begin());
  out.value = add(move, {p.value}, capped_count(p.shape));
  moved_[{p.value, wanted}] = out.value;
  return out;
}

placement lowering::plain(std::uint32_t v) {
  const placement& p = at(v);
  return arranged(p, plain_order(p.shape.size()));
}

placement lowering::channels_last(std::uint32_t v) { return arranged(at(v), image_order); }

std::optional<double> lowering::number(std::uint32_t v) const {
  const auto& known = value(v).known.values;
  if (value(v).kind != flow_kind::constant || known.size() != 1) return {};
  return known[0];
}

result<lowered> lowering::done() {
  if (auto ok = place_input(); !ok) return ok.why();
  for (const flow_node& n : flow_.nodes) {
    if (places_.contains(n.out)) continue;  // a ReLU that another operator took in
    const lowered_op known = find(n.op);
    if (known == nullptr)
      return refused(n.op, n.name, "only recognised as part of a larger pattern");
    for (const std::uint32_t v : n.in) {
      const bool arithmetic = known == find("Add");
      if (value(v).kind == flow_kind::constant && !arithmetic)
        return refused(n.op, n.name, "a constant among its inputs");
      if (value(v).kind == flow_kind::data && value(v).shape.size() > 6)
        return refused(n.op, n.name, "more than six dimensions");
    }
    if (auto ok = (this->*known)(n); !ok) return ok.why();
  }
  out_.output = at(flow_.output);
  return std::move(out_);
}

lowering::lowered_op lowering::find(std::string_view op) {
  using l = lowering;
  static constexpr known_op all[] = {{"Conv", &l::lower_conv},
                                     {"BatchNorm", &l::lower_batch_norm},
                                     {"MaxPool", &l::lower_pool},
                                     {"AveragePool", &l::lower_pool},
                                     {"GlobalAveragePool", &l::lower_pool},
                                     {"ReduceMean", &l::lower_mean},
                                     {"Linear", &l::lower_linear},
                                     {"MatMul", &l::lower_matmul},
                                     {"Embedding", &l::lower_embedding},
                                     {"LayerNorm", &l::lower_layer_norm},
                                     {"Attention", &l::lower_attention},
                                     {"Softmax", &l::lower_softmax},
                                     {"Activation", &l::lower_activation},
                                     {"Dropout", &l::lower_dropout},
                                     {"Add", &l::lower_arithmetic},
                                     {"Sub", &l::lower_arithmetic},
                                     {"Mul", &l::lower_arithmetic},
                                     {"Div", &l::lower_arithmetic},
                                     {"Concat", &l::lower_concat},
                                     {"Slice", &l::lower_slice},
                                     {"Expand", &l::lower_expand},
                                     {"Transpose", &l::lower_transpose},
                                     {"Reshape", &l::lower_reshape}};
  for (const known_op& known : all)
    if (known.op == op) return known.lower;
  return nullptr;
}

result<lowered> lowered_of(const flow& f, const lower_options& options) {
  return lowering(f, options).done();
}

}  // namespace perigee::kernels
