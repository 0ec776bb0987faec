// Digests: 128 bits that name content, and the identity of a job.
//
// Guarantees  the same value on every machine: of bytes, XXH3 (seed 0); of anything else, that of a
//             canonical byte form. They tell honest peers' contents apart; they do not resist
//             someone who forges content to a given digest.
// Threads     none is shared: each digester belongs to its user.
// Source      XXH3: the xxHash specification, version 0.2.
#pragma once

#include "proto/base/id.hpp"
#include "proto/job.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace perigee {

/// Returns XXH3-128 of the bytes.
[[nodiscard]] digest128 digest_of(std::span<const std::byte> content) noexcept;

/// Returns XXH3-64 of the bytes: guards a chunk against damage on its way.
[[nodiscard]] std::uint64_t checksum_of(std::span<const std::byte> content) noexcept;

/// Takes content piece by piece; where it is cut does not matter.
class digester {
public:
  digester();
  ~digester();
  digester(digester&&) noexcept;
  digester& operator=(digester&&) noexcept;

  void add(std::span<const std::byte> piece) noexcept;
  /// Returns the digest of all that was added so far; more may follow.
  [[nodiscard]] digest128 value() const noexcept;

private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Returns the digest of a model's whole state from those of its layers, in layer order.
[[nodiscard]] digest128 combined(std::span<const digest128> parts);

/// Returns the text whose digest is a job's identity: one `field=value` a line, reals as the bits
/// of their doubles. Left out: paths; `steps`, unless the rate is a cosine and so depends on it. A
/// slice of 0 stands as the size it means.
[[nodiscard]] std::string canonical_text(const specification& spec);

[[nodiscard]] job_id id_of(const specification& spec);

}  // namespace perigee
