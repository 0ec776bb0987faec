#include "planner/plan/fleet.hpp"

#include "proto/base/check.hpp"

#include <algorithm>
#include <limits>

namespace perigee::planner {

fleet::fleet(const fleet_description& described)
    : peers_(described.peers), kinds_{{described.usual, sharing::pair}} {
  std::sort(peers_.begin(), peers_.end(),
            [](const peer_record& a, const peer_record& b) { return a.peer < b.peer; });
  for (peer_record& record : peers_) record.workers = std::max(record.workers, 1U);
  if (described.shared.empty() && described.pairs.empty()) return;
  of_pair_.resize(peers_.size() * peers_.size());
  const auto next_kind = [&](const link_estimate& link, sharing how) {
    CHECK(kinds_.size() < std::numeric_limits<std::uint16_t>::max());
    kinds_.push_back({link, how});
    return static_cast<std::uint16_t>(kinds_.size() - 1);
  };
  for (const shared_link& s : described.shared) {
    const auto kind = next_kind(s.link, sharing::medium);
    for (const peer_id a : s.peers)
      for (const peer_id b : s.peers) connect(position_of(a), position_of(b), kind);
  }
  for (const pair_link& p : described.pairs) {
    const link_kind wanted{p.link, sharing::pair};
    const auto at = std::find(kinds_.begin(), kinds_.end(), wanted);
    const auto kind = at == kinds_.end() ? next_kind(p.link, sharing::pair)
                                         : static_cast<std::uint16_t>(at - kinds_.begin());
    connect(position_of(p.source), position_of(p.target), kind);
  }
}

fleet fleet::only(const std::vector<std::uint32_t>& positions) const {
  fleet some;
  some.kinds_ = kinds_;
  for (const std::uint32_t a : positions) {
    some.peers_.push_back(peers_[a]);
    if (uniform()) continue;
    for (const std::uint32_t b : positions) some.of_pair_.push_back(kind_between(a, b));
  }
  return some;
}

std::uint32_t fleet::position_of(peer_id who) const noexcept {
  const auto at = std::lower_bound(
      peers_.begin(), peers_.end(), who,
      [](const peer_record& record, peer_id wanted) { return record.peer < wanted; });
  if (at == peers_.end() || at->peer != who) return size();
  return static_cast<std::uint32_t>(at - peers_.begin());
}

void fleet::connect(std::uint32_t a, std::uint32_t b, std::uint16_t kind) {
  if (a >= size() || b >= size() || a == b) return;
  of_pair_[std::size_t{a} * peers_.size() + b] = kind;
  of_pair_[std::size_t{b} * peers_.size() + a] = kind;
}

}  // namespace perigee::planner
