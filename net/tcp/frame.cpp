#include "net/tcp/frame.hpp"

#include "net/limits.hpp"

#include <cstring>
#include <string>

namespace perigee::net {

namespace {

void put_u32(std::byte* at, std::uint32_t value) noexcept {
  for (unsigned i = 0; i < 4; ++i) at[i] = static_cast<std::byte>(value >> (8 * i));
}

std::uint32_t u32_at(const std::byte* at) noexcept {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < 4; ++i) value |= std::to_integer<std::uint32_t>(at[i]) << (8 * i);
  return value;
}

error too_large(std::size_t size, std::size_t size_max) {
  return {errc::malformed, "malformed frame: " + std::to_string(size) + " bytes announced, " +
                               std::to_string(size_max) + " allowed"};
}

}  // namespace

frame_prefix prefix_of(frame_kind kind, std::size_t size) noexcept {
  frame_prefix made{};
  put_u32(made.data(), static_cast<std::uint32_t>(size));
  put_u32(made.data() + 4, static_cast<std::uint32_t>(kind));
  return made;
}

prefix_fields fields_of(std::span<const std::byte, prefix_size> prefix) noexcept {
  return {u32_at(prefix.data()), u32_at(prefix.data() + 4)};
}

std::vector<std::byte> framed(frame_kind kind, std::span<const std::byte> payload) {
  const auto prefix = prefix_of(kind, payload.size());
  std::vector<std::byte> made(prefix_size + payload.size());
  std::memcpy(made.data(), prefix.data(), prefix_size);
  if (!payload.empty()) std::memcpy(made.data() + prefix_size, payload.data(), payload.size());
  return made;
}

result<std::size_t> announced(std::span<const std::byte, prefix_size> prefix, frame_kind kind,
                              std::size_t size_max) {
  const auto fields = fields_of(prefix);
  if (fields.kind != static_cast<std::uint32_t>(kind)) {
    return error{errc::malformed, "malformed frame: unexpected kind"};
  }
  if (fields.size == 0) return error{errc::malformed, "malformed frame: it is empty"};
  if (fields.size > size_max) return too_large(fields.size, size_max);
  return std::size_t{fields.size};
}

result<std::size_t> announced_on_control(std::span<const std::byte, prefix_size> prefix) {
  const auto kind = static_cast<frame_kind>(fields_of(prefix).kind);
  const bool is_credit = kind == frame_kind::credit;
  return announced(prefix, is_credit ? kind : frame_kind::message, limits::control_frame_max);
}

result<void> read_promised(const byte_source& from, std::span<std::byte> into) {
  auto got = from(into);
  if (got || got.why().code != errc::unavailable) return got;
  return error{errc::malformed, got.why().what + " in the middle of a frame"};
}

result<frame> read_control_frame(const byte_source& from) {
  frame_prefix prefix{};
  if (auto got = from(prefix); !got) return got.why();
  const auto size = announced_on_control(prefix);
  if (!size) return size.why();
  frame made{static_cast<frame_kind>(fields_of(prefix).kind), std::vector<std::byte>(*size)};
  if (auto got = read_promised(from, made.payload); !got) return got.why();
  return made;
}

}  // namespace perigee::net
