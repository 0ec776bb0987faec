// Operators that compute on tensors of any kind.

#include "kernels/model/onnx/tracer.hpp"

#include <limits>

namespace perigee::kernels {

namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();

}  // namespace

result<void> node_tracer::trace_unary() {
  if (!is(0, flow_kind::data))
    return refuse("computed from a parameter, which training would not reach");
  flow_detail how;
  if (node_.op == "HardSigmoid") how.low = real("alpha", 0.2), how.high = real("beta", 0.5);
  if (node_.op == "Clip") {
    how.low = real("min", -unbounded), how.high = real("max", unbounded);
    for (const std::size_t i : {1U, 2U}) {
      if (!has(i)) continue;
      if (!is(i, flow_kind::constant) || value(i).known.values.size() != 1)
        return refuse("its bounds are no constants");
      (i == 1 ? how.low : how.high) = value(i).known.values[0];
    }
    if (!(how.low <= how.high)) return refuse("its lower bound is above the upper one");
  }
  return define_over_first(node_.op, value(0).shape, how);
}

result<void> node_tracer::trace_binary() {
  if (!has(1) || in_.size() != 2) return refuse("does not have two inputs");
  if (!is(0, flow_kind::data) && !is(1, flow_kind::data))
    return refuse("computed from a parameter, which training would not reach");
  if (value(0).whole || value(1).whole) return refuse("computes on token ids");
  const auto joint = joint_shape(value(0).shape, value(1).shape);
  if (!joint || capped_count(*joint) >= count_cap) return refuse("the shapes do not fit");
  define(0, add(node_.op, in_, *joint));
  return {};
}

result<void> node_tracer::trace_sum() {
  std::uint32_t sum = in_[0];
  for (std::size_t i = 1; i < in_.size(); ++i) {
    if (!has(i)) return refuse("an input is missing");
    const auto joint = joint_shape(flow_.values[sum].shape, value(i).shape);
    if (!joint) return refuse("the shapes do not fit");
    if (flow_.values[sum].kind != flow_kind::data && !is(i, flow_kind::data))
      return refuse("computed from a parameter, which training would not reach");
    sum = add("Add", {sum, in_[i]}, *joint);
  }
  define(0, sum);
  return {};
}

result<void> node_tracer::trace_where() {
  if (in_.size() != 3 || !has(1) || !has(2)) return refuse("does not have three inputs");
  if (!is(0, flow_kind::constant)) return refuse("its condition is computed from the data");
  auto joint = joint_shape(value(1).shape, value(2).shape);
  if (joint) joint = joint_shape(*joint, value(0).shape);
  if (!joint) return refuse("the shapes do not fit");
  define(0, add(node_.op, in_, *joint));
  return {};
}

result<void> node_tracer::trace_mean() {
  if (!is(0, flow_kind::data))
    return refuse("computed from a parameter, which training would not reach");
  const auto axes = numbers("axes", 1);
  if (!axes) return axes.why();
  flow_detail how;
  extents kept = value(0).shape, dropped;
  std::vector<bool> reduced(kept.size(), axes->empty());
  for (const std::int64_t axis : *axes) {
    const auto at = axis_of(axis, kept.size());
    if (!at) return refuse(at.why().what);
    reduced[*at] = true;
  }
  for (std::size_t d = 0; d < kept.size(); ++d) {
    if (!reduced[d]) dropped.push_back(kept[d]);
    if (reduced[d]) how.numbers.push_back(static_cast<std::int64_t>(d)), kept[d] = 1;
  }
  const auto mean = add("ReduceMean", {in_[0]}, std::move(kept), std::move(how));
  define(0, number("keepdims", 1) != 0 ? mean : add("Reshape", {mean}, std::move(dropped)));
  return {};
}

result<void> node_tracer::trace_softmax() {
  if (!is(0, flow_kind::data))
    return refuse("computed from a parameter, which training would not reach");
  const extents shape = value(0).shape;
  const bool old = all_.graph_.opset < 13;
  const auto axis = axis_of(number("axis", old ? 1 : -1), shape.size());
  if (!axis) return refuse(axis.why().what);
  flow_detail how;
  how.numbers = {static_cast<std::int64_t>(*axis)};
  if (!old || *axis + 1 == shape.size()) return define_over_first(node_.op, shape, how);
  // Before opset 13 everything from the axis on is one distribution.
  const auto at = static_cast<std::ptrdiff_t>(*axis);
  const extents flat{capped_count({shape.begin(), shape.begin() + at}),
                     capped_count({shape.begin() + at, shape.end()})};
  how.numbers = {1};
  const auto rows = add("Reshape", {in_[0]}, flat);
  define(0, add("Reshape", {add(node_.op, {rows}, flat, how)}, shape));
  return {};
}

result<void> node_tracer::trace_matmul() {
  if (!has(1)) return refuse("does not have two inputs");
  const extents a = value(0).shape, b = value(1).shape;
  if (a.size() < 2 || b.size() < 2) return refuse("a vector is multiplied");
  if (a.back() != b[b.size() - 2]) return refuse("the shapes do not fit");
  if (!is(0, flow_kind::data)) return refuse("its first input is not data");
  if (b.size() == 2 && as_parameter(1)) {
    flow_value weight = value(1);  // ours are [N,C]
    weight.shape = {b[1], b[0]};
    weight.transposed = !weight.transposed;
    flow_.values.push_back(std::move(weight));
    extents shape = a;
    shape.back() = b[1];
    define(0, add("Linear", {in_[0], static_cast<std::uint32_t>(flow_.values.size() - 1)},
                  std::move(shape)));
    return {};
  }
  if (!is(1, flow_kind::data)) return refuse("its second input is a parameter, but no matrix");
  const auto outer = joint_shape({a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
  if (!outer) return refuse("the shapes do not fit");
  extents shape = *outer;
  shape.push_back(a[a.size() - 2]);
  shape.push_back(b.back());
  define(0, add("MatMul", {in_[0], in_[1]}, std::move(shape)));
  return {};
}

result<void> node_tracer::trace_gemm() {
  if (!has(1) || value(0).shape.size() != 2 || value(1).shape.size() != 2)
    return refuse("does not multiply two matrices");
  if (real("alpha", 1) != 1 || (has(2) && real("beta", 1) != 1))
    return refuse("alpha or beta is not 1");
  if (number("transA", 0) != 0) return refuse("transA is set");
  if (!is(0, flow_kind::data)) return refuse("its first input is not data");
  if (!as_parameter(1)) return refuse("its second input is not a parameter");
  flow_value weight = value(1);
  if (number("transB", 0) == 0) {
    std::swap(weight.shape[0], weight.shape[1]);
    weight.transposed = !weight.transposed;
  }
  if (weight.shape[1] != value(0).shape[1]) return refuse("the shapes do not fit");
  const extents shape{value(0).shape[0], weight.shape[0]};
  flow_.values.push_back(std::move(weight));
  const auto product =
      add("Linear", {in_[0], static_cast<std::uint32_t>(flow_.values.size() - 1)}, shape);
  if (!has(2)) {
    define(0, product);
    return {};
  }
  (void)as_parameter(2);
  const auto joint = joint_shape(shape, value(2).shape);
  if (!joint || *joint != shape) return refuse("the shape of its third input does not fit");
  define(0, add("Add", {product, in_[2]}, shape));
  return {};
}

result<void> node_tracer::trace_layer_norm() {
  const extents shape = value(0).shape;
  const auto axis = axis_of(number("axis", -1), shape.size());
  if (!axis) return refuse(axis.why().what);
  const std::int64_t C =
      capped_count({shape.begin() + static_cast<std::ptrdiff_t>(*axis), shape.end()});
  if (!is(0, flow_kind::data) || !as_parameter(1) || !as_parameter(2))
    return refuse("scale and bias must be parameters");
  if (capped_count(value(1).shape) != C || capped_count(value(2).shape) != C)
    return refuse("scale or bias has another shape than what is normalised");
  flow_detail how;
  how.low = real("epsilon", 1e-5);
  const extents rows{capped_count(shape) / C, C};
  const auto in = add("Reshape", {in_[0]}, rows);
  const auto out = add("LayerNorm", {in, in_[1], in_[2]}, rows, how);
  define(0, add("Reshape", {out}, shape));
  return {};
}

result<void> node_tracer::trace_dropout() {
  if (!is(0, flow_kind::data)) return refuse("its input is not data");
  const bool old = all_.graph_.opset < 12;
  double ratio = real("ratio", 0.5);
  if (!old && has(1)) {
    if (!is(1, flow_kind::constant) || value(1).known.values.size() != 1)
      return refuse("its ratio is no constant");
    ratio = value(1).known.values[0];
  }
  bool training = old;
  if (has(2)) {
    if (!is(2, flow_kind::constant) || value(2).known.values.size() != 1)
      return refuse("its mode is no constant");
    training = value(2).known.values[0] != 0;
  }
  if (!(ratio >= 0 && ratio < 1)) return refuse("its ratio is not in [0, 1)");
  if (!training || ratio == 0) {
    define(0, in_[0]);
    return {};
  }
  flow_detail how;
  how.low = ratio;
  return define_over_first("Dropout", value(0).shape, how);
}

}  // namespace perigee::kernels
