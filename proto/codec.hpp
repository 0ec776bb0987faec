// codec: what goes over a link, as bytes and back.
//
// All of it is Cap'n Proto (proto/*.capnp) in its stream framing: a segment table, then the
// segments. Generated types stay behind this header.
//
// Guarantees  decoding never throws, whatever the bytes; it allocates in proportion to them, and no
//             list is longer than its limit; fields of a newer schema are skipped, those that an
//             older one lacks have their defaults.
//             `malformed`: the bytes break the format, or an enumerant is not known.
//             `unsupported`: a kind of message, or a range of versions, that we do not speak.
//             `exhausted`: a list or a text is longer than its limit.
// Requires    nothing of alignment; an input is one whole encoding, no byte more.
// Threads     any; nothing is shared.
#pragma once

#include "proto/base/result.hpp"
#include "proto/digest.hpp"
#include "proto/message.hpp"
#include "proto/tensor.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace perigee {

namespace codec_limits {

inline constexpr std::size_t layers_max = 4096;
inline constexpr std::size_t peers_max = 4096;
inline constexpr std::size_t jobs_max = 64;
inline constexpr std::size_t values_max = 65536;      // figures of one measurement
inline constexpr std::size_t text_max = 4096;         // letters of a path, a reason or a line
inline constexpr std::size_t name_max = 256;          // letters of a name or an address
inline constexpr std::size_t chunk_header_max = 256;  // bytes; now 88, the rest is room to grow
inline constexpr std::size_t hello_max = 1024;        // bytes
inline constexpr std::size_t credit_max = 64;         // bytes

}  // namespace codec_limits

/// A reason or a line for people that is longer than `text_max` is cut; all else is written whole.
[[nodiscard]] std::vector<std::byte> encoded(const message& what);
[[nodiscard]] result<message> decoded(std::span<const std::byte> frame);

/// The versions of the protocol that this build speaks.
inline constexpr std::uint32_t protocol_version_min = 1;
inline constexpr std::uint32_t protocol_version_max = 1;

enum class hello_role : std::uint8_t { peer, client };
enum class hello_channel : std::uint8_t { control, bulk };

/// The first thing each side says on each connection. Its encoding begins with a fixed magic number
/// of ours; what has another one is `malformed`.
struct hello {
  std::uint32_t version_min = protocol_version_min;
  std::uint32_t version_max = protocol_version_max;
  peer_id peer;
  std::uint64_t incarnation = 0;
  hello_role role = hello_role::peer;
  hello_channel channel = hello_channel::control;
  std::uint64_t nonce = 0;  // of the link: tells which two connections belong together
  std::string name;         // for people
  friend bool operator==(const hello&, const hello&) = default;
};

[[nodiscard]] std::vector<std::byte> encoded(const hello& what);
[[nodiscard]] result<hello> decoded_hello(std::span<const std::byte> frame);

/// Returns the highest version that both sides speak, or `unsupported` with both ranges.
[[nodiscard]] result<std::uint32_t> agreed_version(const hello& ours, const hello& theirs);

/// What stands before a piece of a tensor's bytes on a BULK connection.
struct chunk_header {
  job_id job;
  std::uint64_t plan_digest = 0;
  tensor_ref what;
  bytes size;                  // of the whole tensor
  std::uint64_t offset = 0;    // of this piece in it; offset + length <= size
  std::uint32_t length = 0;    // of this piece
  std::uint64_t checksum = 0;  // `checksum_of` this piece
  friend bool operator==(const chunk_header&, const chunk_header&) = default;
};

/// An encoding that needs no heap.
struct encoded_chunk_header {
  std::array<std::byte, codec_limits::chunk_header_max> data{};
  std::size_t size = 0;
  [[nodiscard]] std::span<const std::byte> view() const noexcept { return {data.data(), size}; }
};

[[nodiscard]] encoded_chunk_header encoded(const chunk_header& what);
/// Refuses, as malformed, a piece that does not lie within its tensor.
[[nodiscard]] result<chunk_header> decoded_chunk_header(std::span<const std::byte> frame);

/// So many more bytes of tensors may be sent to me.
struct credit {
  std::uint64_t bytes = 0;
  friend bool operator==(const credit&, const credit&) = default;
};

[[nodiscard]] std::vector<std::byte> encoded(const credit& what);
[[nodiscard]] result<credit> decoded_credit(std::span<const std::byte> frame);

}  // namespace perigee
