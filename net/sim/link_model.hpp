// How long things take on a link, one direction of it: latency, bandwidth, and two queues.
//
//   CONTROL   one after another in order; never behind BULK
//   BULK      one after another in order, each size / bandwidth
//
// Each link has its bandwidth for itself: links of one peer do not share.
//
// Guarantees  integers only; what goes in first comes out first, in each queue.
// Threads     none; a value.
#pragma once

#include "proto/base/instant.hpp"

#include <cstdint>

namespace perigee::net {

struct link_character {
  duration latency{200'000};
  std::uint64_t bytes_per_second = 125'000'000;
  friend bool operator==(const link_character&, const link_character&) = default;
};

class link_model {
public:
  explicit link_model(link_character character = {}) noexcept : character_(character) {}

  struct passage {
    instant leaves{};   // the last byte is off the sender's hands
    instant arrives{};  // and here
  };
  [[nodiscard]] passage carry_control(instant now, bytes size) noexcept;
  [[nodiscard]] passage carry_bulk(instant now, bytes size) noexcept;

  [[nodiscard]] const link_character& character() const noexcept { return character_; }

private:
  [[nodiscard]] passage queued(instant now, bytes size, instant& free_at) const noexcept;

  link_character character_;
  instant control_free_{};
  instant bulk_free_{};
};

}  // namespace perigee::net
