#include "net/sim/link_model.hpp"

#include <algorithm>

namespace perigee::net {

link_model::passage link_model::queued(instant now, bytes size, instant& free_at) const noexcept {
  constexpr std::uint64_t second = 1'000'000'000;
  const std::uint64_t rate = std::max<std::uint64_t>(character_.bytes_per_second, 1);
  // In two parts, so that no size overflows.
  const std::uint64_t whole = size.count / rate * second;
  const std::uint64_t rest = size.count % rate * second / rate;
  free_at = std::max(now, free_at) + duration{static_cast<duration::rep>(whole + rest)};
  return {free_at, free_at + character_.latency};
}

link_model::passage link_model::carry_control(instant now, bytes size) noexcept {
  return queued(now, size, control_free_);
}

link_model::passage link_model::carry_bulk(instant now, bytes size) noexcept {
  return queued(now, size, bulk_free_);
}

}  // namespace perigee::net
