#include "kernels/format/idx.hpp"

#include <string>

namespace perigee::kernels {

namespace {

constexpr unsigned type_u8 = 0x08;
constexpr unsigned rank_max = 4;

error refused(std::string_view what, const std::string& reason, errc code = errc::malformed) {
  return {code, "idx " + std::string(what) + ": " + reason};
}

unsigned byte_at(std::span<const std::byte> file, std::size_t index) {
  return std::to_integer<unsigned>(file[index]);
}

}  // namespace

result<idx_view> parse_idx(std::span<const std::byte> file, std::string_view what) {
  if (file.size() < 4) return refused(what, "only " + std::to_string(file.size()) + " bytes");
  if (byte_at(file, 0) != 0 || byte_at(file, 1) != 0) return refused(what, "wrong magic");
  if (byte_at(file, 2) != type_u8) {
    return refused(what, "values of type " + std::to_string(byte_at(file, 2)) + ", not 8 (u8)",
                   errc::unsupported);
  }
  const unsigned rank = byte_at(file, 3);
  if (rank == 0 || rank > rank_max) {
    return refused(what, std::to_string(rank) + " dimensions; 1 to 4 are read");
  }
  const std::size_t header_bytes = 4 + 4 * std::size_t{rank};
  if (file.size() < header_bytes) return refused(what, "ends inside its header");
  idx_view array{{}, file.subspan(header_bytes)};
  std::int64_t count = 1;
  for (std::size_t at = 4; at < header_bytes; at += 4) {
    const std::int64_t size = (std::int64_t{byte_at(file, at)} << 24) |
                              (std::int64_t{byte_at(file, at + 1)} << 16) |
                              (std::int64_t{byte_at(file, at + 2)} << 8) | byte_at(file, at + 3);
    if (__builtin_mul_overflow(count, size, &count)) return refused(what, "dimensions overflow");
    array.shape.push_back(size);
  }
  if (static_cast<std::uint64_t>(count) == array.values.size()) return array;
  return refused(
      what, std::to_string(array.values.size()) + " values instead of " + std::to_string(count));
}

}  // namespace perigee::kernels
