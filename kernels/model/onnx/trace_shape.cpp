// Operators that move values or look at shapes.

#include "kernels/model/onnx/tracer.hpp"

#include <algorithm>
#include <numeric>

namespace perigee::kernels {

result<void> node_tracer::trace_shape() {
  const auto& shape = value(0).shape;
  const auto size = static_cast<std::int64_t>(shape.size());
  slice_range range{number("start", 0), number("end", size), 1};
  range = held(range, size);
  flow_value v;
  v.name = node_.out[0];
  v.kind = flow_kind::constant;
  v.known.type = dtype::i64;
  for (std::int64_t d = range.begin; d < range.end; ++d)
    v.known.values.push_back(static_cast<double>(shape[static_cast<std::size_t>(d)]));
  v.known.shape = v.shape = {static_cast<std::int64_t>(v.known.values.size())};
  flow_.values.push_back(std::move(v));
  define(0, static_cast<std::uint32_t>(flow_.values.size() - 1));
  return {};
}

/// The same values under another shape: of a parameter a view, of data a node.
result<void> node_tracer::define_reshaped(extents shape) {
  if (!is(0, flow_kind::parameter)) return define_over_first("Reshape", std::move(shape));
  if (value(0).transposed) return refuse("a transposed parameter takes another shape");
  flow_value view = value(0);
  view.shape = std::move(shape);
  flow_.values.push_back(std::move(view));
  define(0, static_cast<std::uint32_t>(flow_.values.size() - 1));
  return {};
}

result<void> node_tracer::trace_reshape() {
  auto target = numbers("shape", 1);
  if (!target) return target.why();
  rebatch(*target);
  auto shape = reshaped(value(0).shape, *target, number("allowzero", 0) != 0);
  if (!shape) return refuse(shape.why().what);
  return define_reshaped(std::move(*shape));
}

result<void> node_tracer::trace_flatten() {
  const auto& shape = value(0).shape;
  const std::int64_t asked = number("axis", 1);
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (asked < -rank || asked > rank) return refuse("axis " + std::to_string(asked));
  const auto axis = static_cast<std::ptrdiff_t>(asked < 0 ? asked + rank : asked);
  return define_reshaped({capped_count({shape.begin(), shape.begin() + axis}),
                          capped_count({shape.begin() + axis, shape.end()})});
}

result<void> node_tracer::trace_squeeze() {
  const auto axes = numbers("axes", 1);
  if (!axes) return axes.why();
  const bool more = node_.op == "Unsqueeze";
  auto shape = more ? unsqueezed(value(0).shape, *axes) : squeezed(value(0).shape, *axes);
  if (!shape) return refuse(shape.why().what);
  return define_reshaped(std::move(*shape));
}

result<void> node_tracer::trace_transpose() {
  const flow_value from = value(0);
  flow_detail how;
  const auto* order = node_.find("perm");
  if (order != nullptr)
    how.numbers = order->numbers;
  else
    for (std::size_t d = from.shape.size(); d-- > 0;)
      how.numbers.push_back(static_cast<std::int64_t>(d));
  extents sorted = how.numbers, shape;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t d = 0; d < sorted.size(); ++d)
    if (sorted.size() != from.shape.size() || sorted[d] != static_cast<std::int64_t>(d))
      return refuse("perm is no permutation");
  for (const std::int64_t d : how.numbers) shape.push_back(from.shape[static_cast<std::size_t>(d)]);
  if (from.kind != flow_kind::parameter)
    return define_over_first("Transpose", std::move(shape), std::move(how));
  if (how.numbers != extents{1, 0}) return refuse("a parameter that is no matrix is transposed");
  flow_value view = from;
  view.shape = std::move(shape);
  view.transposed = !view.transposed;
  flow_.values.push_back(std::move(view));
  define(0, static_cast<std::uint32_t>(flow_.values.size() - 1));
  return {};
}

result<void> node_tracer::trace_concat() {
  extents shape = value(0).shape;
  const auto axis = axis_of(number("axis", 0), shape.size());
  if (!axis) return refuse(axis.why().what);
  shape[*axis] = 0;
  for (std::size_t i = 0; i < in_.size(); ++i) {
    if (!has(i)) return refuse("an input is missing");
    if (is(i, flow_kind::constant)) return refuse("joins data and a constant");
    const auto& own = value(i).shape;
    bool fits = own.size() == shape.size();
    for (std::size_t d = 0; fits && d < own.size(); ++d) fits = d == *axis || own[d] == shape[d];
    if (!fits) return refuse("the shapes do not fit");
    shape[*axis] += own[*axis];
  }
  flow_detail how;
  how.numbers = {static_cast<std::int64_t>(*axis)};
  define(0, add("Concat", in_, std::move(shape), std::move(how)));
  return {};
}

result<void> node_tracer::trace_split() {
  const auto axis = axis_of(number("axis", 0), value(0).shape.size());
  if (!axis) return refuse(axis.why().what);
  auto sizes = numbers("split", 1);
  if (!sizes) return sizes.why();
  const std::int64_t whole = value(0).shape[*axis];
  const auto parts = static_cast<std::int64_t>(node_.out.size());
  if (sizes->empty()) {
    if (whole % parts != 0) return refuse("the parts are not equal");
    sizes->assign(node_.out.size(), whole / parts);
  }
  if (sizes->size() != node_.out.size() ||
      std::accumulate(sizes->begin(), sizes->end(), std::int64_t{0}) != whole ||
      *std::min_element(sizes->begin(), sizes->end()) < 1)
    return refuse("the parts do not make the whole");
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < sizes->size(); ++i) {
    extents shape = value(0).shape;
    shape[*axis] = (*sizes)[i];
    flow_detail how;
    how.numbers = {static_cast<std::int64_t>(*axis), begin};
    define(i, add("Slice", {in_[0]}, std::move(shape), std::move(how)));
    begin += (*sizes)[i];
  }
  return {};
}

/// Runs of single dimensions, one Slice node each; of a parameter only what stands first.
result<void> node_tracer::define_sliced(std::uint32_t from, std::size_t axis, slice_range range) {
  const auto& shape = flow_.values[from].shape;
  if (range.step != 1) return refuse("a step of " + std::to_string(range.step));
  if (range.count() < 1) return refuse("nothing is left of dimension " + std::to_string(axis));
  extents sliced = shape;
  sliced[axis] = range.count();
  if (flow_.values[from].kind == flow_kind::parameter) {
    bool first = range.begin == 0 && !flow_.values[from].transposed;
    for (std::size_t d = 0; d < axis; ++d) first = first && shape[d] == 1;
    if (!first) return refuse("takes a part of a parameter that does not stand first in it");
    flow_value view = flow_.values[from];
    view.shape = std::move(sliced);
    flow_.values.push_back(std::move(view));
    define(0, static_cast<std::uint32_t>(flow_.values.size() - 1));
    return {};
  }
  flow_detail how;
  how.numbers = {static_cast<std::int64_t>(axis), range.begin};
  define(0, add("Slice", {from}, std::move(sliced), std::move(how)));
  return {};
}

result<void> node_tracer::trace_slice() {
  const auto begins = numbers("starts", 1), ends = numbers("ends", 2);
  auto axes = numbers("axes", 3);
  const auto steps = numbers("steps", 4);
  for (const result<extents>* each :
       {&begins, &ends, static_cast<const result<extents>*>(&axes), &steps})
    if (!*each) return each->why();
  if (axes->empty())
    for (std::size_t i = 0; i < begins->size(); ++i) axes->push_back(static_cast<std::int64_t>(i));
  if (begins->empty() || ends->size() != begins->size() || axes->size() != begins->size())
    return refuse("starts, ends and axes do not fit");
  std::uint32_t from = in_[0];
  define(0, from);
  for (std::size_t i = 0; i < begins->size(); ++i) {
    const auto axis = axis_of((*axes)[i], value(0).shape.size());
    if (!axis) return refuse(axis.why().what);
    const std::int64_t size = flow_.values[from].shape[*axis];
    const slice_range range =
        held({(*begins)[i], (*ends)[i], i < steps->size() ? (*steps)[i] : 1}, size);
    if (range.step == 1 && range.begin == 0 && range.end == size) continue;
    if (auto ok = define_sliced(from, *axis, range); !ok) return ok;
    from = all_.names_[node_.out[0]];
  }
  return {};
}

result<void> node_tracer::trace_gather() {
  const auto axis = axis_of(number("axis", 0), value(0).shape.size());
  if (!axis) return refuse(axis.why().what);
  if (!has(1)) return refuse("no indices");
  const extents from = value(0).shape;
  const extents ids = value(1).shape;
  if (is(1, flow_kind::data)) {
    if (!is(0, flow_kind::parameter) || value(0).transposed || from.size() != 2 || *axis != 0)
      return refuse("picks by data from what is no table of weights");
    if (!value(1).whole) return refuse("the indices are no whole numbers");
    extents shape = ids;
    shape.push_back(from[1]);
    define(0, add("Embedding", {in_[1], in_[0]}, std::move(shape)));
    return {};
  }
  if (!is(1, flow_kind::constant)) return refuse("the indices are a parameter");
  const extents index = whole_numbers(value(1).known);
  if (index.empty()) return refuse("no indices");
  const std::int64_t first = index[0] < 0 ? index[0] + from[*axis] : index[0];
  for (std::size_t i = 0; i < index.size(); ++i)
    if ((index[i] < 0 ? index[i] + from[*axis] : index[i]) != first + static_cast<std::int64_t>(i))
      return refuse("the indices do not follow one another");
  if (first < 0 || first + static_cast<std::int64_t>(index.size()) > from[*axis])
    return refuse("an index is out of range");
  const auto count = static_cast<std::int64_t>(index.size());
  if (auto ok = define_sliced(in_[0], *axis, {first, first + count, 1}); !ok) return ok;
  in_[0] = all_.names_[node_.out[0]];
  extents shape(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(*axis));
  shape.insert(shape.end(), ids.begin(), ids.end());
  shape.insert(shape.end(), from.begin() + static_cast<std::ptrdiff_t>(*axis) + 1, from.end());
  return define_reshaped(std::move(shape));
}

result<void> node_tracer::trace_expand() {
  auto target = numbers("shape", 1);
  if (!target) return target.why();
  const extents from = value(0).shape;
  const auto shape = joint_shape(from, *target);
  if (!shape || capped_count(*shape) >= count_cap) return refuse("the shapes do not fit");
  if (capped_count(*shape) == capped_count(from)) return define_reshaped(*shape);
  bool leading = is(0, flow_kind::parameter) && !value(0).transposed;
  bool before = true;  // everything of the parameter is still to come
  for (std::size_t d = 0; d < shape->size(); ++d) {
    const std::size_t behind = shape->size() - d;
    const std::int64_t own = behind > from.size() ? 1 : from[from.size() - behind];
    before = before && own == 1;
    leading = leading && (before || own == (*shape)[d]);
  }
  if (!leading) return refuse("only a whole parameter is repeated");
  return define_over_first("Expand", *shape);
}

/// Identity, and casts that change nothing for us.
result<void> node_tracer::trace_pass() {
  constexpr std::int64_t f32 = 1, i32 = 6, i64 = 7;
  if (node_.op == "Cast") {
    const std::int64_t to = number("to", 0);
    const bool same = value(0).whole ? to == i32 || to == i64 : to == f32;
    if (!same) return refuse("a cast of data to element type " + std::to_string(to));
  }
  std::uint32_t v = in_[0];
  // Exporters keep one copy of equal tensors. Equal vectors are chance (ones, zeros) and train
  // apart; an equal matrix is a tied one.
  if (is(0, flow_kind::parameter) && value(0).shape.size() < 2) {
    flow_value own = value(0);
    own.name = node_.out[0];
    named_tensor tensor = flow_.tensors[own.tensor];
    tensor.name = own.name;
    own.tensor = static_cast<std::uint32_t>(flow_.tensors.size());
    flow_.tensors.push_back(std::move(tensor));
    v = static_cast<std::uint32_t>(flow_.values.size());
    flow_.values.push_back(std::move(own));
  }
  define(0, v);
  return {};
}

}  // namespace perigee::kernels
