// Shape arithmetic and other constants: what an ONNX node gives when all its inputs are known.
//
// Threads  any; pure functions.
#pragma once

#include "kernels/model/onnx/constant.hpp"

#include <span>

namespace perigee::kernels {

/// Returns the node's first output from its inputs (null = left out), or `unsupported` /
/// `malformed` with the reason, without the node's name.
result<constant> folded(const onnx_node& node, std::span<const constant* const> in,
                        std::int64_t opset);

/// The shape that a Reshape gives: `target` may hold one -1 and, unless `zeros`, copies where it
/// holds 0.
result<extents> reshaped(const extents& from, const extents& target, bool zeros);

/// Returns an axis of a tensor of `rank` dimensions counted from the front; `malformed` if there is
/// no such one.
result<std::size_t> axis_of(std::int64_t axis, std::size_t rank);

/// Returns the shape with dimensions of 1 put in at `axes` of the result, which may be negative.
result<extents> unsqueezed(const extents& shape, const extents& axes);

/// Returns the shape without the dimensions `axes`; all that are 1 if there are none.
result<extents> squeezed(const extents& shape, const extents& axes);

/// A run of one dimension, as a Slice asks for it.
struct slice_range {
  std::int64_t begin = 0, end = 0, step = 1;
  [[nodiscard]] std::int64_t count() const noexcept;
};

/// Holds begin and end inside a dimension of `size`.
[[nodiscard]] slice_range held(slice_range range, std::int64_t size) noexcept;

}  // namespace perigee::kernels
