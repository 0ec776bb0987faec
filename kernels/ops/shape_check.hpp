// What every maker of an operator checks before it builds: that each dimension makes sense.
#pragma once

#include "proto/base/result.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

namespace perigee::kernels {

/// A dimension may be this large, and so may the product of all dimensions of a tensor.
inline constexpr std::int64_t dimension_max = (std::int64_t{1} << 31U) - 1;
inline constexpr std::int64_t count_max = std::int64_t{1} << 40U;

struct dimension {
  std::string_view name;
  std::int64_t value;
};

/// Returns nothing if all dimensions are in [1, dimension_max] and their product is at most
/// count_max; else `malformed`, e.g. `layer_norm: C is 0, not in [1, 2147483647]`.
[[nodiscard]] std::optional<error> wrong_dimension(std::string_view what,
                                                   std::initializer_list<dimension> all);

/// The same for the number of values of a flat operator, which may be up to count_max.
[[nodiscard]] std::optional<error> wrong_count(std::string_view what, std::int64_t count);

/// The same for a tensor of any rank, e.g. `concat: dimension 1 of input 2 is 0, not in […]`;
/// more than six dimensions are refused.
[[nodiscard]] std::optional<error> wrong_tensor(std::string_view what, std::string_view which,
                                                std::span<const std::int64_t> shape);

/// Returns e.g. `[3, 4, 5]`.
[[nodiscard]] std::string shape_text(std::span<const std::int64_t> shape);

/// Returns the number of values of a checked shape.
[[nodiscard]] std::size_t count_of(std::span<const std::int64_t> shape) noexcept;

}  // namespace perigee::kernels
