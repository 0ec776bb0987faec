// Makes an outline better by small moves, until none helps or the allowance is spent.
//
//   a boundary moves by 1, 2, 4 or 8 layers      a slice goes from one member to another
//   two peers of different stages swap           an idle peer takes a member's place
//   an idle peer joins a group                   a member leaves its group
//   a stage is merged into a neighbour           an idle peer takes the front or back of a stage
//   two neighbouring stages swap their groups    two neighbours in a group change places
//   a member goes to a neighbouring stage        a few idle peers take it together
//
// Where a group comes to other layers, the cut between it and its neighbour is the one that the
// estimate likes best, or the next.
//
// The judge is the simulation where that is cheap enough, else the estimate: it does not know, for
// one, that a lane behind two others takes the micro-batches of one after those of the other. Room
// is judged where nothing fits yet: by how many bytes the shortest peer is short.
//
// Guarantees  a pure function; never worse than what it was given, by its judge; it ends when
//             `allowance` is spent: 1 for each estimate, 1 for each simulated pass of a lane. Every
//             outline it returns fits into the peers' memory if the given one did.
// Threads     none; one owner.
#pragma once

#include "planner/plan/estimate.hpp"

namespace perigee::planner {

enum class judge : std::uint8_t { estimate, simulation, room };

class local_search {
public:
  local_search(const estimator& with, judge by, std::uint64_t allowance)
      : with_(with), judge_(by), allowance_(allowance) {}

  /// Returns the improved outline.
  [[nodiscard]] outline improved(outline from);

  /// Returns how much of the allowance was used.
  [[nodiscard]] std::uint64_t spent() const noexcept { return spent_; }

private:
  [[nodiscard]] bool spent_all() const noexcept { return spent_ >= allowance_; }
  bool offer(const outline& changed);
  /// Offers the best divisions of the layers of stages `s` and `s` + 1 between their groups.
  bool offer_divided(outline changed, std::size_t s);
  bool offer_beside(const outline& changed, std::size_t s);
  bool offer_shared(const outline& changed, std::size_t s);
  [[nodiscard]] duration::rep time_of(const outline& cut);
  bool groups();
  bool boundaries();
  bool slices();
  bool swaps();
  bool joins();
  bool leaves();
  bool merges();
  bool splits();
  bool replacements();
  bool moves();
  void pour(outline_stage& s) const;
  [[nodiscard]] std::vector<std::uint32_t> idle() const;

  const estimator& with_;
  judge judge_;
  std::uint64_t allowance_;
  std::uint64_t spent_ = 0;
  outline best_;
  duration::rep best_time_ = 0;
};

}  // namespace perigee::planner
