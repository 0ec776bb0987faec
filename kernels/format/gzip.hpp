// Whole files, plain or gzip: told apart by their first two bytes, never by their names.
//
// Guarantees  what unzips is checked against the checksums of its members; what grows beyond the
//             limit is refused before it is held, so that a small file cannot take all memory.
// Source      RFC 1952; several members one after the other are one file (section 2.2).
#pragma once

#include "proto/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace perigee::kernels {

/// The most bytes that a file of ours may have, unzipped.
inline constexpr std::uint64_t unzipped_bytes_max = 4ULL << 30U;

/// Fails with `io`, `malformed` (cut off, damaged, or followed by something else) or `exhausted`
/// (larger than `bytes_max`).
result<std::vector<std::byte>> read_unzipped(const std::string& path,
                                             std::uint64_t bytes_max = unzipped_bytes_max);

/// The same for bytes in memory, which begin with gzip's magic; `what` names them in errors.
result<std::vector<std::byte>> unzipped(std::span<const std::byte> file, std::string_view what,
                                        std::uint64_t bytes_max = unzipped_bytes_max);

}  // namespace perigee::kernels
