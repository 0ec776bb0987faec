// NumPy's array files: little-endian numbers, turned to row-major order.
//
//   93 N U M P Y | version | header length | a Python dict: descr, fortran_order, shape | numbers
//
// Arrays of objects hold a pickle, which is a program: they are refused by name.
//
// Source  NumPy Enhancement Proposal 1, versions 1.0 to 3.0 of the format.
#pragma once

#include "kernels/format/safetensors.hpp"
#include "proto/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace perigee::kernels {

struct npy_array {
  dtype type{};
  std::vector<std::int64_t> shape;  // empty = one number
  std::vector<std::byte> data;      // row-major, little-endian
};

/// Fails with `malformed`, or `unsupported` (naming the type) for what is not plain little-endian
/// numbers; `what` names the file.
result<npy_array> parse_npy(std::span<const std::byte> file, std::string_view what);

/// Reads a file, plain or .gz.
result<npy_array> read_npy(const std::string& path);

/// Returns the elements as doubles; 64-bit integers are rounded. The type is one of f32, f64, i32,
/// i64, u8: others give no elements.
[[nodiscard]] std::vector<double> doubles_of(const npy_array& array);

}  // namespace perigee::kernels
