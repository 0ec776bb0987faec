#include "kernels/format/safetensors.hpp"

#include "kernels/format/file.hpp"
#include "kernels/format/safetensors_header.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

namespace perigee::kernels {

// Numbers are copied between file and memory as they are.
static_assert(std::endian::native == std::endian::little);

namespace {

constexpr std::size_t length_bytes = 8;  // of the number before the header

error malformed(std::string_view what, const std::string& reason) {
  return {errc::malformed, "safetensors " + std::string(what) + ": " + reason};
}

/// Returns the header's length, checked against the whole file's.
result<std::uint64_t> header_length(std::uint64_t length, std::uint64_t file_bytes,
                                    std::string_view what) {
  if (length > header_bytes_max) {
    return malformed(what, "a header of " + std::to_string(length) + " bytes; at most " +
                               std::to_string(header_bytes_max) + " are allowed");
  }
  if (length > file_bytes - length_bytes) {
    return malformed(what, "a header of " + std::to_string(length) + " bytes in a file of " +
                               std::to_string(file_bytes));
  }
  return length;
}

/// Reads a file through `read(offset, out)`, which fills `out` or fails.
template <class Read>
result<tensor_file> read_file(std::uint64_t file_bytes, std::string_view what, const Read& read) {
  if (file_bytes < length_bytes) {
    return malformed(what, "only " + std::to_string(file_bytes) + " bytes");
  }
  std::uint64_t raw_length = 0;
  if (auto got = read(0, std::as_writable_bytes(std::span(&raw_length, 1))); !got) return got.why();
  const auto length = header_length(raw_length, file_bytes, what);
  if (!length) return length.why();
  std::string json(*length, '\0');
  if (auto got = read(length_bytes, std::as_writable_bytes(std::span(json))); !got) {
    return got.why();
  }
  const std::uint64_t data_begin = length_bytes + *length;
  auto header = parse_safetensors_header(json, file_bytes - data_begin, what);
  if (!header) return header.why();
  tensor_file file{{}, std::move(header->metadata)};
  file.tensors.reserve(header->entries.size());
  for (auto& e : header->entries) {
    named_tensor tensor{std::move(e.name), e.type, std::move(e.shape), {}};
    tensor.data.resize(e.end - e.begin);
    if (auto got = read(data_begin + e.begin, std::span(tensor.data)); !got) return got.why();
    file.tensors.push_back(std::move(tensor));
  }
  return file;
}

/// Returns a JSON string; fails if it is no UTF-8.
result<std::string> quoted(const std::string& words) {
  try {
    return nlohmann::json(words).dump();
  } catch (const nlohmann::json::exception&) {
    return error{errc::malformed, "name " + shown(words) + " is no UTF-8"};
  }
}

using tensor_order = std::vector<const named_tensor*>;

tensor_order in_file_order(const tensor_file& file) {
  tensor_order order;
  order.reserve(file.tensors.size());
  for (const auto& tensor : file.tensors) order.push_back(&tensor);
  std::ranges::sort(order, [](const named_tensor* a, const named_tensor* b) {
    return std::pair(b->type, std::string_view(a->name)) <
           std::pair(a->type, std::string_view(b->name));
  });
  return order;
}

result<void> check_names(tensor_order order) {
  std::ranges::sort(order, {}, &named_tensor::name);
  const auto twice = std::ranges::adjacent_find(order, {}, &named_tensor::name);
  if (twice != order.end()) {
    return error{errc::malformed, "tensor " + shown((*twice)->name) + " is there twice"};
  }
  return {};
}

result<std::string> metadata_json(const std::map<std::string, std::string>& metadata) {
  std::string json = "\"__metadata__\":{";
  for (const auto& [key, value] : metadata) {
    const auto name = quoted(key);
    if (!name) return name.why();
    const auto words = quoted(value);
    if (!words) return words.why();
    json += (json.back() == '{' ? "" : ",") + *name + ":" + *words;
  }
  return json + "}";
}

result<std::string> tensor_json(const named_tensor& tensor, std::uint64_t begin) {
  if (tensor.name == "__metadata__") {
    return error{errc::malformed, "a tensor may not be called __metadata__"};
  }
  const auto needed = tensor_bytes(tensor.type, tensor.shape);
  if (!needed || *needed != tensor.data.size()) {
    return error{errc::malformed, "tensor " + shown(tensor.name) + ": " +
                                      std::to_string(tensor.data.size()) +
                                      " bytes do not fit its shape"};
  }
  const auto name = quoted(tensor.name);
  if (!name) return name.why();
  std::string json = *name + ":{\"dtype\":\"" + std::string(text(tensor.type)) + "\",\"shape\":[";
  for (const std::int64_t size : tensor.shape) {
    json += (json.back() == '[' ? "" : ",") + std::to_string(size);
  }
  return json + "],\"data_offsets\":[" + std::to_string(begin) + "," +
         std::to_string(begin + *needed) + "]}";
}

/// Returns the length and the header, padded so that the data are aligned.
result<std::string> header_of(const tensor_file& file, const tensor_order& order) {
  if (auto fine = check_names(order); !fine) return fine.why();
  std::string json = "{";
  if (!file.metadata.empty()) {
    const auto member = metadata_json(file.metadata);
    if (!member) return member.why();
    json += *member;
  }
  std::uint64_t offset = 0;
  for (const auto* tensor : order) {
    const auto member = tensor_json(*tensor, offset);
    if (!member) return member.why();
    json += (json.size() == 1 ? "" : ",") + *member;
    offset += tensor->data.size();
  }
  json += "}";
  json.resize((json.size() + 7) / 8 * 8, ' ');
  if (json.size() > header_bytes_max) {
    return error{errc::exhausted, "a header of " + std::to_string(json.size()) + " bytes"};
  }
  const std::uint64_t length = json.size();
  std::string header(length_bytes, '\0');
  std::memcpy(header.data(), &length, length_bytes);
  return header + json;
}

}  // namespace

std::string_view text(dtype type) noexcept {
  constexpr std::array<std::string_view, 13> words = {
      "BOOL", "U8", "I8", "I16", "U16", "F16", "BF16", "I32", "U32", "F32", "F64", "I64", "U64"};
  return words[static_cast<std::size_t>(type)];
}

std::size_t element_bytes(dtype type) noexcept {
  constexpr std::array<std::size_t, 13> sizes = {1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 8, 8, 8};
  return sizes[static_cast<std::size_t>(type)];
}

std::optional<std::uint64_t> tensor_bytes(dtype type,
                                          std::span<const std::int64_t> shape) noexcept {
  auto total = static_cast<std::int64_t>(element_bytes(type));
  for (const std::int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(total, size, &total)) return std::nullopt;
  }
  return static_cast<std::uint64_t>(total);
}

const named_tensor* tensor_file::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(tensors, name, &named_tensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

result<tensor_file> read_safetensors(const std::string& path) {
  const auto file = input_file::open(path);
  if (!file) return file.why();
  return read_file(file->size(), path, [&](std::uint64_t offset, std::span<std::byte> out) {
    return file->read_at(offset, out);
  });
}

result<tensor_file> parse_safetensors(std::span<const std::byte> file, std::string_view what) {
  return read_file(file.size(), what, [&](std::uint64_t offset, std::span<std::byte> out) {
    std::ranges::copy(file.subspan(offset, out.size()), out.begin());
    return result<void>();
  });
}

result<void> write_safetensors(const std::string& path, const tensor_file& file) {
  const auto order = in_file_order(file);
  const auto header = header_of(file, order);
  if (!header) {
    return error{header.why().code, "write safetensors " + path + ": " + header.why().what};
  }
  std::vector<std::span<const std::byte>> pieces = {std::as_bytes(std::span(*header))};
  for (const auto* tensor : order) pieces.emplace_back(tensor->data);
  return write_aside(path, pieces);
}

}  // namespace perigee::kernels
