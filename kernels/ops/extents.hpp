// The check of a shape that every maker begins with.
#pragma once

#include "proto/base/result.hpp"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace perigee::kernels {

struct named_extent {
  std::string_view name;
  std::int64_t value = 0;
};

/// The most values a tensor of ours may have: every product of extents stays far from overflow.
inline constexpr std::int64_t tensor_count_max = std::int64_t{1} << 40;

/// Fails with `malformed` and the first extent below 1 (`linear: rows is 0, must be at least 1`).
result<void> checked_extents(std::string_view op, std::initializer_list<named_extent> extents);

/// Fails with `unsupported` if the product of the extents is beyond `tensor_count_max`.
result<void> checked_count(std::string_view op, std::initializer_list<named_extent> extents);

}  // namespace perigee::kernels
