// A frame: what stands on either connection of a link. Eight bytes say what follows and how long it
// is; the rest is Cap'n Proto (proto/codec.hpp), and behind a chunk's header come the chunk's
// bytes.
//
//   | size: u32 | kind: u32 | size bytes |        little endian; size without the prefix
//
// Guarantees  no byte is allocated or read for a frame before its length is found within bounds. No
//             frame is empty.
#pragma once

#include "proto/base/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace perigee::net {

enum class frame_kind : std::uint32_t {
  hello = 0x50474801,  // both connections: the first frame each way
  message = 0x50474802,
  credit = 0x50474803,
  chunk = 0x50474804,  // the only one on BULK after the hello
};

struct frame {
  frame_kind kind{};
  std::vector<std::byte> payload;
};

inline constexpr std::size_t prefix_size = 8;
using frame_prefix = std::array<std::byte, prefix_size>;

struct prefix_fields {
  std::uint32_t size = 0;
  std::uint32_t kind = 0;
};
[[nodiscard]] frame_prefix prefix_of(frame_kind kind, std::size_t size) noexcept;
[[nodiscard]] prefix_fields fields_of(std::span<const std::byte, prefix_size> prefix) noexcept;

/// Returns prefix and payload in one piece.
[[nodiscard]] std::vector<std::byte> framed(frame_kind kind, std::span<const std::byte> payload);

/// Returns how long a frame announced by `prefix` is, or why it cannot be read as one of `kind`.
[[nodiscard]] result<std::size_t> announced(std::span<const std::byte, prefix_size> prefix,
                                            frame_kind kind, std::size_t size_max);
/// The same for CONTROL, where a message or a credit may come.
[[nodiscard]] result<std::size_t> announced_on_control(
    std::span<const std::byte, prefix_size> prefix);

/// Fills a range from a connection, or says why it cannot.
using byte_source = std::function<result<void>(std::span<std::byte> into)>;

/// Reads what an earlier part of the frame promised: an end of the connection before all of it came
/// is `malformed`.
result<void> read_promised(const byte_source& from, std::span<std::byte> into);

/// Reads one frame of CONTROL.
result<frame> read_control_frame(const byte_source& from);

}  // namespace perigee::net
