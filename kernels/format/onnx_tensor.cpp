#include "kernels/format/onnx_tensor.hpp"

#include "kernels/format/file.hpp"

#include <charconv>
#include <cstring>
#include <filesystem>

namespace perigee::kernels {

namespace {

using types = onnx::TensorProto;

std::string named(const types& t) {
  return t.name().empty() ? "a tensor" : "tensor " + shown(t.name());
}

error wrong(const types& t, const std::string& what) {
  return {errc::malformed, named(t) + ": " + what};
}

/// Where external data lie in their file.
struct external_place {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

std::optional<std::uint64_t> whole_number(const std::string& words) {
  std::uint64_t value = 0;
  const char* end = words.data() + words.size();
  const auto [at, failure] = std::from_chars(words.data(), end, value);
  if (failure != std::errc{} || at != end) return {};
  return value;
}

result<external_place> place_of(const types& t) {
  external_place place;
  for (const auto& entry : t.external_data()) {
    if (entry.key() == "location") {
      place.location = entry.value();
    } else if (entry.key() == "offset" || entry.key() == "length") {
      const auto value = whole_number(entry.value());
      if (!value) return wrong(t, entry.key() + " of its external data is no number");
      if (entry.key() == "offset")
        place.offset = *value;
      else
        place.length = value;
    }
  }
  if (place.location.empty()) return wrong(t, "external data without a location");
  const std::filesystem::path path(place.location);
  bool inside = !path.is_absolute() && place.location.find('\\') == std::string::npos &&
                place.location.find('\0') == std::string::npos;
  for (const auto& part : path) inside = inside && part != "..";
  if (!inside)
    return wrong(
        t, "external data in " + shown(place.location) + ", which is not in the model's folder");
  return place;
}

/// Refuses a link that leads out of the folder, too.
result<void> checked_inside(const types& t, const std::string& folder, const std::string& path) {
  std::error_code failed;
  const auto root = std::filesystem::weakly_canonical(folder.empty() ? "." : folder, failed);
  const auto real = std::filesystem::weakly_canonical(path, failed);
  const auto [at, unused] = std::mismatch(root.begin(), root.end(), real.begin(), real.end());
  if (failed || at != root.end())
    return wrong(t, "external data in " + shown(path) + ", which leads out of the model's folder");
  return {};
}

result<std::vector<std::byte>> external_bytes(const types& t, const std::string& folder,
                                              std::uint64_t size) {
  const auto place = place_of(t);
  if (!place) return place.why();
  const std::string path = (std::filesystem::path(folder) / place->location).string();
  if (auto inside = checked_inside(t, folder, path); !inside) return inside.why();
  if (place->length && *place->length != size)
    return wrong(t, std::to_string(*place->length) + " bytes of external data, its shape has " +
                        std::to_string(size));
  const auto file = input_file::open(path);
  if (!file) return error{file.why().code, named(t) + ": " + file.why().what};
  if (place->offset > file->size() || file->size() - place->offset < size)
    return wrong(t, "external data end behind the end of " + shown(place->location));
  std::vector<std::byte> data(size);
  if (auto ok = file->read_at(place->offset, data); !ok) return ok.why();
  return data;
}

/// Copies typed values, each narrowed to the tensor's own element.
template <class To, class Field>
std::vector<std::byte> narrowed(const Field& from) {
  std::vector<std::byte> data(static_cast<std::size_t>(from.size()) * sizeof(To));
  std::size_t at = 0;
  for (const auto x : from) {
    const auto value = static_cast<To>(x);
    std::memcpy(data.data() + at, &value, sizeof value);
    at += sizeof value;
  }
  return data;
}

std::vector<std::byte> typed_bytes(const types& t, dtype type) {
  switch (type) {
    case dtype::f32:
      return narrowed<float>(t.float_data());
    case dtype::f64:
      return narrowed<double>(t.double_data());
    case dtype::i64:
      return narrowed<std::int64_t>(t.int64_data());
    case dtype::u64:
      return narrowed<std::uint64_t>(t.uint64_data());
    case dtype::u32:
      return narrowed<std::uint32_t>(t.uint64_data());
    case dtype::i32:
      return narrowed<std::int32_t>(t.int32_data());
    case dtype::i16:
    case dtype::u16:
    case dtype::f16:
    case dtype::bf16:
      return narrowed<std::uint16_t>(t.int32_data());
    case dtype::boolean:
    case dtype::u8:
    case dtype::i8:
      return narrowed<std::uint8_t>(t.int32_data());
  }
  return {};
}

}  // namespace

std::optional<dtype> dtype_of(std::int32_t onnx_type) noexcept {
  switch (onnx_type) {
    case types::FLOAT:
      return dtype::f32;
    case types::DOUBLE:
      return dtype::f64;
    case types::FLOAT16:
      return dtype::f16;
    case types::BFLOAT16:
      return dtype::bf16;
    case types::INT64:
      return dtype::i64;
    case types::INT32:
      return dtype::i32;
    case types::INT16:
      return dtype::i16;
    case types::INT8:
      return dtype::i8;
    case types::UINT64:
      return dtype::u64;
    case types::UINT32:
      return dtype::u32;
    case types::UINT16:
      return dtype::u16;
    case types::UINT8:
      return dtype::u8;
    case types::BOOL:
      return dtype::boolean;
    default:
      return {};
  }
}

result<named_tensor> tensor_of(const onnx::TensorProto& from, const std::string& folder) {
  const auto type = dtype_of(from.data_type());
  if (!type)
    return error{errc::unsupported,
                 named(from) + ": element type " + std::to_string(from.data_type())};
  if (from.has_segment()) return error{errc::unsupported, named(from) + ": stored in segments"};
  named_tensor t{from.name(), *type, {from.dims().begin(), from.dims().end()}, {}};
  const auto size = tensor_bytes(*type, t.shape);
  if (!size) return wrong(from, "a dimension is negative or the shape is too large");
  if (from.data_location() == types::EXTERNAL) {
    auto data = external_bytes(from, folder, *size);
    if (!data) return data.why();
    t.data = std::move(*data);
  } else if (from.has_raw_data()) {
    const auto raw = std::as_bytes(std::span(from.raw_data().data(), from.raw_data().size()));
    t.data.assign(raw.begin(), raw.end());
  } else {
    t.data = typed_bytes(from, *type);
  }
  if (t.data.size() != *size)
    return wrong(from,
                 std::to_string(t.data.size()) + " bytes, its shape has " + std::to_string(*size));
  return t;
}

}  // namespace perigee::kernels
