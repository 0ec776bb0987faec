#include "kernels/model/onnx/fold.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace perigee::kernels {

namespace {

error malformed(std::string what) { return {errc::malformed, std::move(what)}; }

std::size_t size_of(const extents& shape) { return static_cast<std::size_t>(capped_count(shape)); }

constexpr double whole_max = 9007199254740992.0;  // 2^53

double rounded(double x, dtype type) {
  if (type == dtype::f32) return static_cast<float>(x);
  if (type != dtype::i64) return x;
  return std::isnan(x) ? 0 : std::clamp(std::trunc(x), -whole_max, whole_max);
}

bool gives_truth(const std::string& op) {
  return op == "Equal" || op == "Less" || op == "LessOrEqual" || op == "Greater" ||
         op == "GreaterOrEqual" || op == "And" || op == "Or" || op == "Not";
}

/// Everything that folding one node needs.
struct folding {
  const onnx_node& node;
  std::span<const constant* const> in;
  std::int64_t opset;

  [[nodiscard]] const constant* at(std::size_t i) const { return i < in.size() ? in[i] : nullptr; }
  [[nodiscard]] std::int64_t number(std::string_view name, std::int64_t otherwise) const {
    const auto* a = node.find(name);
    return a == nullptr ? otherwise : a->number;
  }
  /// Returns whole numbers from an attribute or, as later opsets have it, from an input.
  [[nodiscard]] extents numbers(std::string_view name, std::size_t input) const {
    if (const auto* a = node.find(name); a != nullptr) return a->numbers;
    return at(input) == nullptr ? extents{} : whole_numbers(*at(input));
  }
};

result<constant> fold_unary(const folding& f) {
  const constant& x = *f.in[0];
  const dtype type = gives_truth(f.node.op) ? dtype::boolean : x.type;
  constant out{type, x.shape, x.values};
  const auto bound = [&](std::size_t i, double otherwise) {
    return f.at(i) == nullptr || f.at(i)->values.size() != 1 ? otherwise : f.at(i)->values[0];
  };
  const double low = bound(1, -std::numeric_limits<double>::infinity());
  const double high = bound(2, std::numeric_limits<double>::infinity());
  if (!(low <= high)) return malformed("the lower bound is above the upper one");
  for (double& v : out.values) {
    const auto y = unary(f.node.op, v, low, high);
    if (!y) return error{errc::unsupported, "not supported"};
    v = rounded(*y, type);
  }
  return out;
}

result<constant> fold_binary(const folding& f) {
  const constant &a = *f.in[0], &b = *f.in[1];
  const auto joint = joint_shape(a.shape, b.shape);
  if (!joint || capped_count(*joint) > constant_count_max)
    return malformed("the shapes do not fit");
  constant out{gives_truth(f.node.op) ? dtype::boolean : a.type, *joint, {}};
  out.values.resize(size_of(*joint));
  for (std::size_t i = 0; i < out.values.size(); ++i) {
    const double x = a.values[joint_index(*joint, a.shape, i)];
    const double y = b.values[joint_index(*joint, b.shape, i)];
    const auto z = binary(f.node.op, x, y);
    if (!z) return error{errc::unsupported, "not supported"};
    if (out.type == dtype::i64 && !std::isfinite(*z)) return malformed("division by zero");
    out.values[i] = rounded(*z, out.type);
  }
  return out;
}

result<constant> fold_where(const folding& f) {
  const constant &choice = *f.in[0], &a = *f.in[1], &b = *f.in[2];
  auto joint = joint_shape(a.shape, b.shape);
  if (joint) joint = joint_shape(*joint, choice.shape);
  if (!joint || capped_count(*joint) > constant_count_max)
    return malformed("the shapes do not fit");
  constant out{a.type, *joint, std::vector<double>(size_of(*joint))};
  for (std::size_t i = 0; i < out.values.size(); ++i) {
    const constant& from = choice.values[joint_index(*joint, choice.shape, i)] != 0 ? a : b;
    out.values[i] = from.values[joint_index(*joint, from.shape, i)];
  }
  return out;
}

result<constant> fold_gather(const folding& f) {
  const constant &x = *f.in[0], &ids = *f.in[1];
  const auto axis = axis_of(f.number("axis", 0), x.shape.size());
  if (!axis) return axis.why();
  const auto at = static_cast<std::ptrdiff_t>(*axis);
  const std::size_t outer = size_of({x.shape.begin(), x.shape.begin() + at});
  const std::size_t inner = size_of({x.shape.begin() + at + 1, x.shape.end()});
  const std::int64_t rows = x.shape[*axis];
  constant out{x.type, {x.shape.begin(), x.shape.begin() + at}, {}};
  out.shape.insert(out.shape.end(), ids.shape.begin(), ids.shape.end());
  out.shape.insert(out.shape.end(), x.shape.begin() + at + 1, x.shape.end());
  if (capped_count(out.shape) > constant_count_max) return malformed("too large");
  for (std::size_t o = 0; o < outer; ++o) {
    for (const double id : ids.values) {
      const auto row = static_cast<std::int64_t>(id < 0 ? id + static_cast<double>(rows) : id);
      if (row < 0 || row >= rows)
        return malformed("index " + std::to_string(row) + " of " + std::to_string(rows));
      const auto* from =
          x.values.data() +
          (o * static_cast<std::size_t>(rows) + static_cast<std::size_t>(row)) * inner;
      out.values.insert(out.values.end(), from, from + inner);
    }
  }
  return out;
}

result<constant> fold_concat(const folding& f) {
  const auto axis = axis_of(f.number("axis", 0), f.in[0]->shape.size());
  if (!axis) return axis.why();
  constant out{f.in[0]->type, f.in[0]->shape, {}};
  out.shape[*axis] = 0;
  for (const constant* x : f.in) {
    if (x->shape.size() != out.shape.size()) return malformed("the shapes do not fit");
    for (std::size_t d = 0; d < out.shape.size(); ++d)
      if (d != *axis && x->shape[d] != out.shape[d]) return malformed("the shapes do not fit");
    out.shape[*axis] += x->shape[*axis];
  }
  const std::size_t outer =
      size_of({out.shape.begin(), out.shape.begin() + static_cast<std::ptrdiff_t>(*axis)});
  for (std::size_t o = 0; o < outer; ++o) {
    for (const constant* x : f.in) {
      const auto block = static_cast<std::ptrdiff_t>(x->values.size() / outer);
      const auto from = x->values.begin() + static_cast<std::ptrdiff_t>(o) * block;
      out.values.insert(out.values.end(), from, from + block);
    }
  }
  return out;
}

/// Returns the values at an index of each dimension, which `at` makes from the place in `shape`.
template <class At>
constant picked(const constant& x, const extents& shape, const At& at) {
  constant out{x.type, shape, std::vector<double>(size_of(shape))};
  extents steps(x.shape.size(), 1), index(shape.size(), 0);
  for (std::size_t d = steps.size(); d-- > 1;) steps[d - 1] = steps[d] * x.shape[d];
  for (double& value : out.values) {
    value = x.values[static_cast<std::size_t>(at(index, steps))];
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

result<constant> fold_transpose(const folding& f) {
  const constant& x = *f.in[0];
  extents order = f.numbers("perm", 9);
  if (order.empty())
    for (std::size_t d = x.shape.size(); d-- > 0;) order.push_back(static_cast<std::int64_t>(d));
  extents shape, sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t d = 0; d < sorted.size(); ++d)
    if (sorted.size() != x.shape.size() || sorted[d] != static_cast<std::int64_t>(d))
      return malformed("perm is no permutation");
  for (const std::int64_t d : order) shape.push_back(x.shape[static_cast<std::size_t>(d)]);
  return picked(x, shape, [&](const extents& index, const extents& steps) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < index.size(); ++d)
      at += index[d] * steps[static_cast<std::size_t>(order[d])];
    return at;
  });
}

result<constant> fold_slice(const folding& f) {
  const constant& x = *f.in[0];
  const extents begins = f.numbers("starts", 1), ends = f.numbers("ends", 2);
  extents axes = f.numbers("axes", 3);
  const extents steps = f.numbers("steps", 4);
  for (std::size_t i = 0; axes.size() < begins.size(); ++i)
    axes.push_back(static_cast<std::int64_t>(i));
  if (ends.size() != begins.size() || axes.size() != begins.size())
    return malformed("starts, ends and axes do not fit");
  std::vector<slice_range> ranges;
  for (const std::int64_t size : x.shape) ranges.push_back({0, size, 1});
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const auto axis = axis_of(axes[i], x.shape.size());
    if (!axis) return axis.why();
    const slice_range asked{begins[i], ends[i], i < steps.size() ? steps[i] : 1};
    if (asked.step == 0) return malformed("a step of 0");
    ranges[*axis] = held(asked, x.shape[*axis]);
  }
  extents shape;
  for (const slice_range& r : ranges) shape.push_back(r.count());
  return picked(x, shape, [&](const extents& index, const extents& strides) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < index.size(); ++d)
      at += (ranges[d].begin + index[d] * ranges[d].step) * strides[d];
    return at;
  });
}

result<constant> fold_expand(const folding& f) {
  const constant& x = *f.in[0];
  const auto joint = joint_shape(x.shape, whole_numbers(*f.in[1]));
  if (!joint || capped_count(*joint) > constant_count_max)
    return malformed("the shapes do not fit");
  constant out{x.type, *joint, std::vector<double>(size_of(*joint))};
  for (std::size_t i = 0; i < out.values.size(); ++i)
    out.values[i] = x.values[joint_index(*joint, x.shape, i)];
  return out;
}

result<constant> fold_range(const folding& f) {
  const double begin = f.in[0]->values.at(0), end = f.in[1]->values.at(0),
               step = f.in[2]->values.at(0);
  const double count = std::max(0.0, std::ceil((end - begin) / step));
  if (!(count <= static_cast<double>(constant_count_max)))
    return malformed("the range does not end");
  constant out{f.in[0]->type, {static_cast<std::int64_t>(count)}, {}};
  for (double i = 0; i < count; ++i) out.values.push_back(begin + i * step);
  return out;
}

result<constant> fold_filled(const folding& f) {
  const extents shape = whole_numbers(*f.in[0]);
  for (const std::int64_t size : shape)
    if (size < 0) return malformed("a dimension is negative");
  if (capped_count(shape) > constant_count_max) return malformed("too large");
  constant out{dtype::f32, shape, {}};
  double value = 0;
  if (const auto* a = f.node.find("value"); a != nullptr && a->has_tensor) {
    const auto one = constant_of(a->tensor);
    if (!one || one->values.size() != 1) return malformed("value is not one number");
    value = one->values[0];
    out.type = one->type;
  }
  out.values.assign(size_of(shape), value);
  return out;
}

result<constant> fold_cast(const folding& f) {
  constant out = *f.in[0];
  const std::int64_t to = f.number("to", 0);
  constexpr std::int64_t f32 = 1, i32 = 6, i64 = 7, truth = 9, f64 = 11;
  if (to != f32 && to != i32 && to != i64 && to != truth && to != f64)
    return error{errc::unsupported, "a cast to element type " + std::to_string(to)};
  out.type = to == truth ? dtype::boolean : to == i32 || to == i64 ? dtype::i64 : dtype::f32;
  for (double& x : out.values) x = to == truth ? (x != 0 ? 1 : 0) : rounded(x, out.type);
  return out;
}

result<constant> fold_triangle(const folding& f) {
  constant out = *f.in[0];
  if (out.shape.size() < 2) return malformed("fewer than two dimensions");
  const auto columns = static_cast<std::size_t>(out.shape.back());
  const auto rows = static_cast<std::size_t>(out.shape[out.shape.size() - 2]);
  const double k = f.at(1) == nullptr ? 0 : f.at(1)->values.at(0);
  const bool upper = f.number("upper", 1) != 0;
  for (std::size_t i = 0; i < out.values.size(); ++i) {
    const double off = static_cast<double>(i % columns) - static_cast<double>(i / columns % rows);
    if (upper ? off < k : off > k) out.values[i] = 0;
  }
  return out;
}

result<constant> fold_shaped(const folding& f) {
  constant out = *f.in[0];
  const std::string& op = f.node.op;
  result<extents> shape = out.shape;
  if (op == "Reshape")
    shape = reshaped(out.shape, whole_numbers(*f.in[1]), f.number("allowzero", 0) != 0);
  if (op == "Unsqueeze") shape = unsqueezed(out.shape, f.numbers("axes", 1));
  if (op == "Squeeze") shape = squeezed(out.shape, f.numbers("axes", 1));
  if (!shape) return shape.why();
  out.shape = *shape;
  return out;
}

using folder = result<constant> (*)(const folding&);
struct known_fold {
  std::string_view op;
  std::size_t inputs;
  folder fold;
};
constexpr known_fold folds[] = {{"Where", 3, fold_where},    {"Gather", 2, fold_gather},
                                {"Concat", 1, fold_concat},  {"Transpose", 1, fold_transpose},
                                {"Slice", 1, fold_slice},    {"Expand", 2, fold_expand},
                                {"Range", 3, fold_range},    {"ConstantOfShape", 1, fold_filled},
                                {"Cast", 1, fold_cast},      {"Trilu", 1, fold_triangle},
                                {"Reshape", 2, fold_shaped}, {"Unsqueeze", 1, fold_shaped},
                                {"Squeeze", 1, fold_shaped}, {"Identity", 1, fold_shaped}};

}  // namespace

std::int64_t slice_range::count() const noexcept {
  const std::int64_t span = step > 0 ? end - begin : begin - end;
  const std::int64_t size = step > 0 ? step : -step;
  return span <= 0 ? 0 : (span + size - 1) / size;
}

slice_range held(slice_range r, std::int64_t size) noexcept {
  if (r.begin < 0) r.begin += size;
  if (r.end < 0) r.end += size;
  const bool forward = r.step > 0;
  r.begin = std::clamp<std::int64_t>(r.begin, 0, forward ? size : size - 1);
  r.end = std::clamp<std::int64_t>(r.end, forward ? 0 : -1, size);
  return r;
}

result<std::size_t> axis_of(std::int64_t axis, std::size_t rank) {
  const auto size = static_cast<std::int64_t>(rank);
  if (axis < -size || axis >= size)
    return malformed("axis " + std::to_string(axis) + " of " + std::to_string(rank) +
                     " dimensions");
  return static_cast<std::size_t>(axis < 0 ? axis + size : axis);
}

result<extents> reshaped(const extents& from, const extents& target, bool zeros) {
  extents shape = target;
  std::int64_t known = 1;
  std::size_t open = shape.size();
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0 && !zeros) {
      if (d >= from.size()) return malformed("a 0 where the input has no dimension");
      shape[d] = from[d];
    }
    if (shape[d] < -1 || (shape[d] == -1 && open < shape.size())) return malformed("no shape");
    if (shape[d] == -1)
      open = d;
    else
      known = capped_count({known, shape[d]});
  }
  const std::int64_t count = capped_count(from);
  if (open < shape.size()) shape[open] = known == 0 ? 0 : count / known;
  if (capped_count(shape) != count)
    return malformed(std::to_string(count) + " values do not fit the shape that is asked for");
  return shape;
}

result<extents> unsqueezed(const extents& shape, const extents& axes) {
  const std::size_t rank = shape.size() + axes.size();
  std::vector<bool> added(rank, false);
  for (const std::int64_t axis : axes) {
    const auto at = axis_of(axis, rank);
    if (!at) return at.why();
    if (added[*at]) return malformed("an axis is there twice");
    added[*at] = true;
  }
  extents out;
  std::size_t next = 0;
  for (std::size_t d = 0; d < rank; ++d) out.push_back(added[d] ? 1 : shape[next++]);
  return out;
}

result<extents> squeezed(const extents& shape, const extents& axes) {
  std::vector<bool> left_out(shape.size(), false);
  for (const std::int64_t axis : axes) {
    const auto at = axis_of(axis, shape.size());
    if (!at) return at.why();
    if (shape[*at] != 1) return malformed("a dimension to leave out is not 1");
    left_out[*at] = true;
  }
  extents out;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (!left_out[d] && !(axes.empty() && shape[d] == 1)) out.push_back(shape[d]);
  return out;
}

result<constant> folded(const onnx_node& node, std::span<const constant* const> in,
                        std::int64_t opset) {
  const folding f{node, in, opset};
  for (const known_fold& known : folds) {
    if (known.op != node.op) continue;
    for (std::size_t i = 0; i < std::max(known.inputs, node.op == "Concat" ? in.size() : 0); ++i) {
      if (f.at(i) == nullptr) return malformed("input " + std::to_string(i) + " is missing");
      if (node.op == "Range" && f.at(i)->values.size() != 1) return malformed("no single number");
    }
    return known.fold(f);
  }
  if (f.at(0) == nullptr) return malformed("input 0 is missing");
  if (f.at(1) != nullptr && node.op != "Clip") return fold_binary(f);
  return fold_unary(f);
}

}  // namespace perigee::kernels
