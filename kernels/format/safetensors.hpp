// Safetensors: a file of named tensors, read strictly and written safely.
//
//   u64 little-endian N | N bytes of JSON, padded with spaces | the tensors' bytes, without holes
//
// Guarantees  what is read is exactly what the header says, every byte of the data belongs to one
//             tensor, and anything else is refused with what is wrong and where. A written file has
//             the reference library's own order (wider elements first, then by name) and padding:
//             equal contents give equal bytes, and data starts at a multiple of 8.
// Source      https://github.com/huggingface/safetensors (the format section, and its checks).
#pragma once

#include "proto/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace perigee::kernels {

/// What one element of a tensor is; in the order in which the format ranks them.
enum class dtype : std::uint8_t {
  boolean,
  u8,
  i8,
  i16,
  u16,
  f16,
  bf16,
  i32,
  u32,
  f32,
  f64,
  i64,
  u64
};

/// Returns the format's own word, e.g. `F32`.
[[nodiscard]] std::string_view text(dtype type) noexcept;

/// Returns the bytes of one element.
[[nodiscard]] std::size_t element_bytes(dtype type) noexcept;

struct named_tensor {
  std::string name;
  dtype type = dtype::f32;
  std::vector<std::int64_t> shape;  // empty = one number
  std::vector<std::byte> data;      // row-major, little-endian
  friend bool operator==(const named_tensor&, const named_tensor&) = default;
};

struct tensor_file {
  std::vector<named_tensor> tensors;
  std::map<std::string, std::string> metadata;

  /// Returns the tensor of that name, or null. Linear in the number of tensors.
  [[nodiscard]] const named_tensor* find(std::string_view name) const noexcept;
  friend bool operator==(const tensor_file&, const tensor_file&) = default;
};

/// The format's own limit.
inline constexpr std::uint64_t header_bytes_max = 100'000'000;

/// Returns the bytes that a tensor of this shape has, or nothing if a dimension is negative or the
/// product does not fit 63 bits.
[[nodiscard]] std::optional<std::uint64_t> tensor_bytes(
    dtype type, std::span<const std::int64_t> shape) noexcept;

/// Reads a file in the order of its data. Fails with `io`, `malformed`, or `unsupported` (an
/// element type that we do not know).
result<tensor_file> read_safetensors(const std::string& path);

/// The same for bytes in memory; `what` names them in errors.
result<tensor_file> parse_safetensors(std::span<const std::byte> file, std::string_view what);

/// Writes the file aside, syncs it and renames it: a crash leaves the old one or the new one. Fails
/// with `io`, or with `malformed` on names that are there twice or are no UTF-8 and on data of
/// another size than the shape says.
result<void> write_safetensors(const std::string& path, const tensor_file& file);

}  // namespace perigee::kernels
