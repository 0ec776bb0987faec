// Constants of an ONNX graph that are known when it is imported, and arithmetic on them.
//
// Guarantees  values of f32 are rounded to f32 after every operation, as a runtime would.
// Threads     any; pure functions.
#pragma once

#include "kernels/format/onnx.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace perigee::kernels {

using extents = std::vector<std::int64_t>;

/// Returns the values of any shape: 0 if a dimension is below 1, at most `count_cap`.
inline constexpr std::int64_t count_cap = std::int64_t{1} << 40U;
[[nodiscard]] std::int64_t capped_count(const extents& shape) noexcept;

/// Numbers of one of three types: f32, i64 (all whole numbers), boolean (0 or 1). Whole numbers
/// beyond 2^53 are held at that.
struct constant {
  dtype type = dtype::f32;
  extents shape;
  std::vector<double> values;
};

/// Constants of more values than this are not computed with.
inline constexpr std::int64_t constant_count_max = std::int64_t{1} << 24U;

/// Returns nothing for types that we do not compute with or for too many values.
[[nodiscard]] std::optional<constant> constant_of(const named_tensor& tensor);

/// Returns the tensor of a constant of f32.
[[nodiscard]] named_tensor tensor_of(const constant& c, std::string name);

/// Returns the values as whole numbers.
[[nodiscard]] extents whole_numbers(const constant& c);

/// What the function of an element-wise operator gives; nothing if we do not know the operator.
/// `a` and `b` are what its attributes or further inputs say (Clip: bounds, HardSigmoid: alpha and
/// beta).
[[nodiscard]] std::optional<double> unary(const std::string& op, double x, double a, double b);
[[nodiscard]] std::optional<double> binary(const std::string& op, double x, double y);

/// Returns the joint shape of NumPy's broadcasting, or nothing if the shapes do not fit.
[[nodiscard]] std::optional<extents> joint_shape(const extents& a, const extents& b);

/// Returns the value at `index` of the joint shape of a tensor of shape `own`.
[[nodiscard]] std::size_t joint_index(const extents& joint, const extents& own, std::size_t index);

}  // namespace perigee::kernels
