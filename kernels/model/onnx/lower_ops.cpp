// Each operator of a flow in our operators.

#include "kernels/model/onnx/lowering.hpp"

#include <algorithm>

namespace perigee::kernels {

namespace {

const std::vector<std::size_t> image_order{0, 2, 3, 1};

/// Returns a shape with dimensions of 1 in front.
extents widened(const extents& shape, std::size_t rank) {
  extents out(rank - shape.size(), 1);
  out.insert(out.end(), shape.begin(), shape.end());
  return out;
}

}  // namespace

// --- images
// ----------------------------------------------------------------------------------------

result<void> lowering::lower_conv(const flow_node& n) {
  const placement x = channels_last(n.in[0]);
  const extents& w = value(n.in[1]).shape;
  conv2d_shape s;
  s.B = x.shape[0], s.C = x.shape[1], s.H = x.shape[2], s.W = x.shape[3];
  s.N = w[0], s.KH = w[2], s.KW = w[3];
  s.stride = n.how.numbers[0], s.padding = n.how.numbers[1], s.dilation = n.how.numbers[2];
  s.groups = n.how.numbers[3];
  s.bias = n.in.size() > 2;
  s.isa = options_.isa;
  std::vector<parameter> parameters{parameter_of(n, 1, w)};
  if (s.bias) parameters.push_back(parameter_of(n, 2, {s.N}));
  define(n, add(s, {x.value}, capped_count(value(n.out).shape), std::move(parameters)),
         image_order);
  return {};
}

result<void> lowering::lower_batch_norm(const flow_node& n) {
  const bool image = value(n.in[0]).shape.size() == 4;
  const placement x = image ? channels_last(n.in[0]) : plain(n.in[0]);
  batch_norm_shape s{x.shape[0], x.shape[1], image ? x.shape[2] : 1, image ? x.shape[3] : 1};
  s.epsilon = static_cast<float>(n.how.low);
  s.relu = takes_relu(n);
  s.pass = options_.pass;
  const std::vector<std::int64_t> C{s.C};
  const auto out =
      add(s, {x.value}, capped_count(x.shape), {parameter_of(n, 1, C), parameter_of(n, 2, C)});
  const std::string mean = flow_.tensors[value(n.in[3]).tensor].name;
  constexpr std::string_view ending = ".running_mean";
  const std::string prefix =
      mean.ends_with(ending) ? mean.substr(0, mean.size() - ending.size()) : mean;
  out_.whole.nodes.back().running = prefix;
  out_.whole.nodes.back().momentum = n.how.high;
  out_.tensors[prefix + ".running_mean"] = value(n.in[3]).tensor;
  out_.tensors[prefix + ".running_var"] = value(n.in[4]).tensor;
  define(n, out, x.order);
  return {};
}

result<void> lowering::lower_pool(const flow_node& n) {
  const placement x = channels_last(n.in[0]);
  pool_shape s;
  s.kind = n.op == "MaxPool"       ? pool_kind::max
           : n.op == "AveragePool" ? pool_kind::average
                                   : pool_kind::global_average;
  s.B = x.shape[0], s.C = x.shape[1], s.H = x.shape[2], s.W = x.shape[3];
  if (s.kind != pool_kind::global_average)
    s.kernel = n.how.numbers[0], s.stride = n.how.numbers[1], s.padding = n.how.numbers[2];
  define(n, add(s, {x.value}, capped_count(value(n.out).shape)), image_order);
  return {};
}

/// A mean over height and width, or over the middle of [B,T,C], is a global average.
result<void> lowering::lower_mean(const flow_node& n) {
  const extents shape = value(n.in[0]).shape;
  const bool image = shape.size() == 4 && n.how.numbers == extents{2, 3};
  const bool rows = shape.size() == 3 && n.how.numbers == extents{1};
  if (!image && !rows)
    return refused(n.op, n.name, "only a mean over height and width, or over the tokens, is known");
  const placement x = image ? channels_last(n.in[0]) : plain(n.in[0]);
  pool_shape s;
  s.kind = pool_kind::global_average;
  s.B = shape[0], s.C = image ? shape[1] : shape[2];
  s.H = image ? shape[2] : shape[1], s.W = image ? shape[3] : 1;
  define(n, add(s, {x.value}, s.B * s.C), plain_order(shape.size()));
  return {};
}

// --- rows
// ------------------------------------------------------------------------------------------

result<void> lowering::lower_linear(const flow_node& n) {
  const placement x = plain(n.in[0]);
  linear_shape s;
  s.C = x.shape.back();
  s.R = capped_count(x.shape) / s.C;
  s.N = value(n.in[1]).shape[0];
  s.bias = n.in.size() > 2;
  std::vector<parameter> parameters{parameter_of(n, 1, {s.N, s.C})};
  if (s.bias) parameters.push_back(parameter_of(n, 2, {s.N}));
  define(n, add(s, {x.value}, s.R * s.N, std::move(parameters)), plain_order(x.shape.size()));
  return {};
}

result<void> lowering::lower_matmul(const flow_node& n) {
  const placement a = plain(n.in[0]), b = plain(n.in[1]);
  const extents outer_a(a.shape.begin(), a.shape.end() - 2);
  const extents outer_b(b.shape.begin(), b.shape.end() - 2);
  if (outer_a != outer_b) return refused(n.op, n.name, "a matrix is repeated");
  matmul_shape s;
  s.G = capped_count(outer_a);
  s.R = a.shape[a.shape.size() - 2], s.C = a.shape.back(), s.N = b.shape.back();
  define(n, add(s, {a.value, b.value}, s.G * s.R * s.N), plain_order(a.shape.size()));
  return {};
}

result<void> lowering::lower_embedding(const flow_node& n) {
  const placement ids = plain(n.in[0]);
  const extents& table = value(n.in[1]).shape;
  embedding_shape s;
  s.R = capped_count(ids.shape), s.V = table[0], s.C = table[1];
  std::vector<parameter> parameters{parameter_of(n, 1, table)};
  if (n.in.size() > 2) {
    s.T = ids.shape.back();
    parameters.push_back(parameter_of(n, 2, {s.T, s.C}));
  }
  define(n, add(s, {ids.value}, s.R * s.C, std::move(parameters)),
         plain_order(ids.shape.size() + 1));
  return {};
}

result<void> lowering::lower_layer_norm(const flow_node& n) {
  const placement x = plain(n.in[0]);
  layer_norm_shape s;
  s.C = x.shape.back();
  s.R = capped_count(x.shape) / s.C;
  s.epsilon = static_cast<float>(n.how.low);
  define(n, add(s, {x.value}, s.R * s.C, {parameter_of(n, 1, {s.C}), parameter_of(n, 2, {s.C})}),
         plain_order(x.shape.size()));
  return {};
}

result<void> lowering::lower_attention(const flow_node& n) {
  attention_shape s;
  s.causal = n.how.causal;
  s.scale = static_cast<float>(n.how.low);
  s.packed = n.in.size() == 1;
  std::vector<std::uint32_t> in;
  for (const std::uint32_t v : n.in) in.push_back(plain(v).value);
  const extents& shape = value(n.out).shape;
  s.B = shape[0];
  s.T = s.packed ? shape[1] : shape[2];
  s.heads = s.packed ? n.how.numbers[0] : shape[1];
  s.D = s.packed ? n.how.numbers[1] : shape[3];
  define(n, add(s, std::move(in), capped_count(shape)), plain_order(shape.size()));
  return {};
}

result<void> lowering::lower_softmax(const flow_node& n) {
  const placement x = plain(n.in[0]);
  const auto axis = static_cast<std::ptrdiff_t>(n.how.numbers[0]);
  softmax_shape s;
  s.outer = capped_count({x.shape.begin(), x.shape.begin() + axis});
  s.C = x.shape[static_cast<std::size_t>(axis)];
  s.inner = capped_count({x.shape.begin() + axis + 1, x.shape.end()});
  define(n, add(s, {x.value}, capped_count(x.shape)), plain_order(x.shape.size()));
  return {};
}

// --- element by element
// ----------------------------------------------------------------------------

result<void> lowering::lower_activation(const flow_node& n) {
  const placement x = at(n.in[0]);
  const std::int64_t count = capped_count(x.shape);
  define(n, add(activation_shape{n.how.kind, count}, {x.value}, count), x.order);
  return {};
}

result<void> lowering::lower_dropout(const flow_node& n) {
  const placement x = at(n.in[0]);
  const std::int64_t count = capped_count(x.shape);
  const dropout_shape s{count, n.how.low, stream_++};
  const bool off = options_.pass == pass_kind::evaluation;
  define(n, off ? x.value : add(s, {x.value}, count), x.order);
  return {};
}

result<void> lowering::lower_arithmetic(const flow_node& n) {
  const auto a = number(n.in[0]), b = number(n.in[1]);
  const bool one =
      value(n.in[0]).kind == flow_kind::constant || value(n.in[1]).kind == flow_kind::constant;
  if (one && !a && !b) return refused(n.op, n.name, "a constant that is more than one number");
  if (one) return lower_scaled(n, a ? *a : *b, a.has_value());
  if (n.op == "Add") return lower_joint(n, broadcast_kind::add);
  if (n.op == "Mul") return lower_joint(n, broadcast_kind::multiply);
  return refused(n.op, n.name, "of two tensors is not supported");
}

result<void> lowering::lower_scaled(const flow_node& n, double number, bool number_first) {
  const placement x = at(n.in[number_first ? 1 : 0]);
  if (number_first && n.op == "Div")
    return refused(n.op, n.name, "a number divided by a tensor is not supported");
  double scale = 1, shift = 0;
  if (n.op == "Add") shift = number;
  if (n.op == "Sub") shift = number_first ? number : -number;
  if (n.op == "Sub" && number_first) scale = -1;
  if (n.op == "Mul") scale = number;
  if (n.op == "Div") scale = 1 / number;
  const extents& shape = value(n.out).shape;
  if (shape.size() != x.shape.size()) return refused(n.op, n.name, "a number of more dimensions");
  const std::int64_t count = capped_count(shape);
  const affine_shape s{count, static_cast<float>(scale), static_cast<float>(shift)};
  define(n, add(s, {x.value}, count), x.order);
  return {};
}

result<void> lowering::lower_joint(const flow_node& n, broadcast_kind kind) {
  const extents& joint = value(n.out).shape;
  // The order of the one that is whole and has moved; else of the first whole one.
  const auto whole = [&](std::size_t i) { return value(n.in[i]).shape == joint; };
  const auto moved = [&](std::size_t i) {
    return whole(i) && !same_order(joint, at(n.in[i]).order, plain_order(joint.size()));
  };
  const order wanted = moved(0)   ? at(n.in[0]).order
                       : moved(1) ? at(n.in[1]).order
                                  : plain_order(joint.size());
  std::uint32_t in[2];
  extents shape[2];
  for (std::size_t i = 0; i < 2; ++i) {
    placement p = at(n.in[i]);
    if (p.shape.size() < joint.size()) {
      const auto wide = reshaped(p, widened(p.shape, joint.size()));
      p = wide ? *wide : *reshaped(plain(n.in[i]), widened(p.shape, joint.size()));
    }
    p = arranged(p, wanted);
    in[i] = p.value;
    shape[i] = p.in_memory();
  }
  const std::int64_t count = capped_count(joint);
  if (kind == broadcast_kind::add && shape[0] == shape[1]) {
    const bool relu = takes_relu(n);
    define(n, add(residual_shape{count, relu}, {in[0], in[1]}, count), wanted);
  } else {
    define(n, add(broadcast_shape{kind, shape[0], shape[1]}, {in[0], in[1]}, count), wanted);
  }
  return {};
}

// --- moving
// ----------------------------------------------------------------------------------------

result<void> lowering::lower_concat(const flow_node& n) {
  const std::size_t rank = value(n.out).shape.size();
  order wanted = plain_order(rank);
  for (const std::uint32_t v : n.in)
    if (rank == 4 && same_order(value(v).shape, at(v).order, image_order)) wanted = image_order;
  const auto axis = static_cast<std::size_t>(n.how.numbers[0]);
  concat_shape s;
  s.axis = std::find(wanted.begin(), wanted.end(), axis) - wanted.begin();
  std::vector<std::uint32_t> in;
  for (const std::uint32_t v : n.in) {
    const placement p = arranged(at(v), wanted);
    in.push_back(p.value);
    s.in.push_back(p.in_memory());
  }
  define(n, add(s, std::move(in), capped_count(value(n.out).shape)), wanted);
  return {};
}

result<void> lowering::lower_slice(const flow_node& n) {
  const placement x = at(n.in[0]);
  const auto axis = static_cast<std::size_t>(n.how.numbers[0]);
  const extents memory = x.in_memory();
  const auto place = std::find(x.order.begin(), x.order.end(), axis) - x.order.begin();
  slice_shape s;
  s.outer = capped_count({memory.begin(), memory.begin() + place});
  s.size = x.shape[axis];
  s.inner = capped_count({memory.begin() + place + 1, memory.end()});
  s.begin = n.how.numbers[1];
  s.count = value(n.out).shape[axis];
  define(n, add(s, {x.value}, capped_count(value(n.out).shape)), x.order);
  return {};
}

result<void> lowering::lower_expand(const flow_node& n) {
  const std::int64_t count = capped_count(value(n.in[0]).shape);
  const std::int64_t all = capped_count(value(n.out).shape);
  const auto out =
      add(source_shape{count, all / count}, {}, all, {parameter_of(n, 0, value(n.in[0]).shape)});
  define(n, out, plain_order(value(n.out).shape.size()));
  return {};
}

result<void> lowering::lower_transpose(const flow_node& n) {
  places_[n.out] = transposed(at(n.in[0]), n.how.numbers);
  return {};
}

result<void> lowering::lower_reshape(const flow_node& n) {
  const extents& shape = value(n.out).shape;
  const auto same = reshaped(at(n.in[0]), shape);
  places_[n.out] = same ? *same : *reshaped(plain(n.in[0]), shape);
  return {};
}

}  // namespace perigee::kernels
