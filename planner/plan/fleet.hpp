// The peers a plan may use, and how any two of them reach each other.
//
// A link is of one of few kinds: that of two peers alone, each direction by itself, or a medium
// (a radio channel, an uplink) on which one transfer goes at a time whoever sends it.
//
// Guarantees  peers stand in id order whatever the order they were named in: a position in `peers`
//             means the same peer to everybody.
// Threads     none; values.
#pragma once

#include "planner/plan/cost_model.hpp"
#include "proto/message.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace perigee::planner {

enum class sharing : std::uint8_t { pair, medium };

struct link_kind {
  link_estimate link;
  sharing how = sharing::pair;
  friend bool operator==(const link_kind&, const link_kind&) = default;
};

/// Two peers whose link is not the usual one.
struct pair_link {
  peer_id source;
  peer_id target;
  link_estimate link;
  friend bool operator==(const pair_link&, const pair_link&) = default;
};

/// Peers whose transfers to each other take turns.
struct shared_link {
  std::vector<peer_id> peers;
  link_estimate link;
  friend bool operator==(const shared_link&, const shared_link&) = default;
};

/// A fleet as it is described.
struct fleet_description {
  std::vector<peer_record> peers;
  link_estimate usual;
  std::vector<shared_link> shared;
  std::vector<pair_link> pairs;  // these win over shared ones
  friend bool operator==(const fleet_description&, const fleet_description&) = default;
};

class fleet {
public:
  /// Names that no peer has are left out.
  explicit fleet(const fleet_description& described);

  [[nodiscard]] const std::vector<peer_record>& peers() const noexcept { return peers_; }
  [[nodiscard]] std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(peers_.size());
  }
  /// Returns a peer's position, or `size()` if there is no such peer.
  [[nodiscard]] std::uint32_t position_of(peer_id who) const noexcept;

  [[nodiscard]] std::uint16_t kind_between(std::uint32_t a, std::uint32_t b) const noexcept {
    return of_pair_.empty() ? std::uint16_t{0} : of_pair_[std::size_t{a} * peers_.size() + b];
  }
  [[nodiscard]] const link_kind& between(std::uint32_t a, std::uint32_t b) const noexcept {
    return kinds_[kind_between(a, b)];
  }
  /// Returns whether all links are alike.
  [[nodiscard]] bool uniform() const noexcept { return of_pair_.empty(); }

  /// Returns the fleet of the peers at `positions` alone, which are ascending.
  [[nodiscard]] fleet only(const std::vector<std::uint32_t>& positions) const;

private:
  fleet() = default;
  void connect(std::uint32_t a, std::uint32_t b, std::uint16_t kind);

  std::vector<peer_record> peers_;
  std::vector<link_kind> kinds_;
  std::vector<std::uint16_t> of_pair_;  // empty: all are of kind 0
};

}  // namespace perigee::planner
