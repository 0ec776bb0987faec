// IDX: the arrays in which MNIST is published.
//
//   00 00 | type | rank | rank big-endian u32 dimensions | the values, row-major
//
// Source  http://yann.lecun.com/exdb/mnist/, "the IDX file format". Of its types only unsigned
//         bytes are read: nothing else is published in it.
#pragma once

#include "proto/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace perigee::kernels {

struct idx_view {
  std::vector<std::int64_t> shape;
  std::span<const std::byte> values;  // unsigned bytes, inside the file's own
};

/// Fails with `malformed`, or `unsupported` for values of another type; `what` names the file.
result<idx_view> parse_idx(std::span<const std::byte> file, std::string_view what);

}  // namespace perigee::kernels
