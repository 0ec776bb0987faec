// Where a tensor's dimensions lie in memory: ONNX names them in one order, ours may lie in another
// (images are [B,H,W,C]). Transposes and many reshapes only change names; nothing moves.
//
// Threads  any; pure functions.
#pragma once

#include "kernels/model/onnx/constant.hpp"

#include <optional>

namespace perigee::kernels {

struct placement {
  std::uint32_t value = 0;         // of our graph
  extents shape;                   // in ONNX's order
  std::vector<std::size_t> order;  // memory dimension i is ONNX's dimension order[i]

  /// Returns the dimensions as they lie in memory.
  [[nodiscard]] extents in_memory() const;
};

/// Returns 0, 1, 2, …
[[nodiscard]] std::vector<std::size_t> plain_order(std::size_t rank);

/// Returns whether two orders of a shape are the same memory: dimensions of 1 do not matter.
[[nodiscard]] bool same_order(const extents& shape, const std::vector<std::size_t>& a,
                              const std::vector<std::size_t>& b);

/// Returns the same memory under permuted names: dimension i is the old `order[i]`.
[[nodiscard]] placement transposed(const placement& p, const extents& order);

/// Returns the same memory under another shape, or nothing if its values would have to move.
[[nodiscard]] std::optional<placement> reshaped(const placement& p, const extents& shape);

}  // namespace perigee::kernels
