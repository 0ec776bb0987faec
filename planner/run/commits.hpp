// What the stages tell of each step: measurements before it is applied, digests of the new states
// after; and the commit records that come of them.
//
// The first member of each group speaks for its stage. The others send it their digests; it
// compares, and only then tells all participants.
//
// Guarantees  records complete in step order; reports that differ within a group are found before
//             the stage reports.
// Threads     none; one owner.
#pragma once

#include "planner/run/stage_place.hpp"
#include "proto/base/result.hpp"
#include "proto/message.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace perigee::planner {

class commits {
public:
  /// `where` outlives this. `step` = steps done before.
  commits(const stage_place& where, std::uint64_t step);

  /// Steps (from 0) that are looked at: those of a peer that is ahead by no more than peers can be.
  static constexpr std::uint64_t ahead_max = 4;
  /// A step is begun only when no more than so many before it are without a record.
  static constexpr std::uint64_t open_max = 2;

  /// A measurement, this stage's own or one from another stage's speaker.
  void note_measured(const measurement& m);
  /// Returns the stages' values in layer order once all have measured the step and are finite.
  [[nodiscard]] std::optional<std::vector<std::uint64_t>> values(std::uint64_t step) const;
  /// Returns the first stage whose measurement of a step is not here.
  [[nodiscard]] std::optional<std::uint32_t> unmeasured(std::uint64_t step) const;

  /// This peer has applied; `done` counts the steps.
  void note_applied(std::uint64_t done, std::vector<digest128> states);
  /// A report from a member of the own group or from another stage's speaker; others are ignored.
  void note_report(peer_id from, const state_report& r);

  /// Returns whether a report for all is due for the own stage, once for each step.
  [[nodiscard]] std::optional<state_report> due_report();
  /// Returns how the states of a group differ, if they do: layer, peers and step.
  [[nodiscard]] const std::optional<error>& mismatch() const { return mismatch_; }

  /// Steps whose records are complete.
  [[nodiscard]] std::uint64_t committed() const { return committed_; }
  [[nodiscard]] const commit_record& last() const { return last_; }
  /// Returns whose report of the oldest open step is not here, or peer_id{}.
  [[nodiscard]] peer_id unreported() const;
  /// Returns whether all that a peer tells this one of the state after `done` steps is here.
  [[nodiscard]] bool has_told(const place& who, std::uint64_t done) const;

private:
  using states_of = std::optional<std::vector<digest128>>;
  struct open_step {
    std::vector<std::optional<measurement>> measured;  // by stage
    std::vector<states_of> states;                     // by stage
    std::vector<states_of> group;                      // by member of the own stage; speaker only
    bool told = false;
  };
  [[nodiscard]] open_step* at(std::uint64_t step);
  void compare(std::uint64_t step, open_step& s);
  void complete();

  const stage_place& where_;
  std::uint64_t committed_;
  std::map<std::uint64_t, open_step> open_;  // by step, from 0
  commit_record last_;
  std::optional<error> mismatch_;
};

}  // namespace perigee::planner
