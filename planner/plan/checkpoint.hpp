// Which activations of a stage to keep and which to compute again, for every budget at once.
//
//   C(m, i, j)   the least time of forward and backward of layers i..j with m slots of free memory,
//                the input of i being there
//     keep i     forward and backward of i once, the rest with what i keeps taken away
//     drop to k  run forward to k keeping only k's input; do k..j; then i..k-1 anew
//
// Memory is counted in slots, every size rounded up to whole ones: a finer count finds a little
// more. What-if only today: the stage executor keeps everything.
//
// Guarantees  the least time among persistent schedules (what is kept stays until its backward
//             pass); a sequence never needs more than its budget. O(layers^3 * slots).
// Threads     none; immutable once built.
// Source      Rotor (Beaumont et al., 2019, hal-02352969).
#pragma once

#include "proto/base/units.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace perigee::planner {

/// A layer of the chain, for one micro-batch.
struct chain_layer {
  duration forward{};
  duration backward{};
  bytes input;      // the boundary before it
  bytes output;     // the boundary behind it
  bytes saved;      // what its backward pass needs, its output included
  bytes transient;  // while either pass runs
  friend bool operator==(const chain_layer&, const chain_layer&) = default;
};

/// Forward passes differ in what stays: all that the backward pass needs, the layer's input alone,
/// or nothing of it.
enum class chain_pass : std::uint8_t { forward_all, forward_input, forward_only, backward };

struct chain_action {
  chain_pass what{};
  std::uint32_t layer = 0;
  friend bool operator==(const chain_action&, const chain_action&) = default;
};

class checkpoint_table {
public:
  /// Requires at least one layer; `most` is the largest budget that will be asked for.
  checkpoint_table(std::vector<chain_layer> layers, bytes most, std::uint32_t slots);

  /// Returns the least time of both passes within a budget, or nothing if it is too small.
  [[nodiscard]] std::optional<duration> time(bytes budget) const;

  /// Returns what to do, or nothing if the budget is too small.
  [[nodiscard]] std::optional<std::vector<chain_action>> sequence(bytes budget) const;

  /// Returns the least budget that is enough.
  [[nodiscard]] std::optional<bytes> least() const;

private:
  using rep = duration::rep;
  struct range {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
  };

  [[nodiscard]] std::uint32_t slots_of(bytes size) const;
  [[nodiscard]] std::uint32_t whole_slots(bytes budget) const;
  [[nodiscard]] std::size_t at(std::uint32_t m, const range& r) const;
  [[nodiscard]] std::uint32_t least_for(const range& r) const;
  void fill(std::uint32_t m, const range& r);
  void trace(std::uint32_t m, const range& r, std::vector<chain_action>& into) const;

  std::vector<chain_layer> layers_;
  std::uint64_t slot_ = 1;  // bytes
  std::uint32_t slots_ = 0;
  std::vector<rep> best_;
  std::vector<std::uint32_t> choice_;  // first = keep, k = drop to k
  std::vector<rep> forward_;           // prefix sums
};

}  // namespace perigee::planner
