// Sums over runs of layers, each in O(1): what searches ask a million times.
//
// Peers of one speed share their sums.
//
// Guarantees  times are the cost model's to the nanosecond; `least_memory` is never more than what
//             the account asks of any plan with that stage.
// Threads     none; immutable once built.
#pragma once

#include "planner/plan/outline.hpp"

#include <vector>

namespace perigee::planner {

/// Layers [first, end).
struct layer_range {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
};

class layer_sums {
public:
  explicit layer_sums(const planning_space& space);

  /// Returns a micro-batch's time, both directions.
  [[nodiscard]] duration::rep pass(std::uint32_t peer, layer_range r) const noexcept {
    const auto& sums = pass_[class_[peer]];
    return sums[r.end] - sums[r.first];
  }
  [[nodiscard]] duration::rep update(std::uint32_t peer, layer_range r) const noexcept {
    const auto& sums = update_[class_[peer]];
    return sums[r.end] - sums[r.first];
  }

  /// What a member of a group asks for at the least: one worker, one micro-batch under way.
  struct membership_of_group {
    std::uint32_t slices = 0;
    std::uint32_t index = 0;
    std::uint32_t size = 1;
  };
  [[nodiscard]] bytes least_memory(layer_range r, const membership_of_group& who) const noexcept;

  /// Returns how long a group's gradients take along `link` and the totals back.
  [[nodiscard]] duration::rep reduce(layer_range r, std::uint32_t members,
                                     const link_estimate& link) const noexcept;

  [[nodiscard]] std::uint32_t layers() const noexcept { return layers_; }
  /// Returns how many different speeds there are.
  [[nodiscard]] std::size_t speed_classes() const noexcept { return pass_.size(); }
  [[nodiscard]] std::size_t class_of(std::uint32_t peer) const noexcept { return class_[peer]; }

private:
  const model_profile& model_;
  std::uint32_t layers_ = 0;
  std::vector<std::size_t> class_;                // [peer]
  std::vector<std::vector<duration::rep>> pass_;  // [class][layer]: prefix sums
  std::vector<std::vector<duration::rep>> update_;
  std::vector<std::uint64_t> states_;  // prefix sums of bytes
  std::vector<std::uint64_t> gradients_;
  std::vector<std::uint64_t> slices_;
  std::vector<std::uint64_t> kept_;
};

}  // namespace perigee::planner
