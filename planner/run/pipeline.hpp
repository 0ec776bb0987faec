// One peer's part of training a job by a committed plan.
//
//   prepared --begin--> running: for each step
//     passing    forward and backward passes of all lanes        (planner/run/passes.hpp)
//     reducing   folds along the group, totals, measures         (planner/run/reduction.hpp)
//     gathering  all stages' measurements, own gradients sent
//     applying   the update of each layer
//   then resting until the last commit record and all accounts are here --> finished
//   running --a value that is not finite, a lost participant, differing states--> halted
//
// Guarantees  a step is applied everywhere or nowhere, if no participant is lost; a stop leaves the
//             state of a whole number of steps, `steps_done()`; tensors of other steps, senders or
//             plans are ignored; a lane that waits says for what.
// Requires    events of this job and epoch only, and a plan that passed its check.
// Threads     none; one owner calls it (see planner/machine.hpp).
#pragma once

#include "planner/machine.hpp"
#include "planner/run/commits.hpp"
#include "planner/run/ledger.hpp"
#include "planner/run/passes.hpp"
#include "planner/run/reduction.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace perigee::planner {

enum class pipeline_phase : std::uint8_t { prepared, running, finished, halted };

[[nodiscard]] std::string_view text(pipeline_phase phase) noexcept;

struct pipeline_config {
  stage_place where;
  std::uint64_t base_step = 0;
  std::uint64_t steps = 0;  // of the job
  bytes memory;             // what the part needs, and what was offered for it
  bytes offered;
};

class pipeline {
public:
  explicit pipeline(pipeline_config config);
  pipeline(const pipeline&) = delete;
  pipeline& operator=(const pipeline&) = delete;

  /// The plan is committed: training begins.
  void begin(instant now, outbox& out);
  void step(instant now, const event& e, outbox& out);
  [[nodiscard]] instant deadline() const noexcept;

  [[nodiscard]] pipeline_phase phase() const noexcept { return phase_; }
  [[nodiscard]] const stage_place& where() const noexcept { return where_; }
  [[nodiscard]] std::uint64_t steps_done() const noexcept { return step_; }
  [[nodiscard]] const commit_record& last() const noexcept { return commits_.last(); }
  [[nodiscard]] std::vector<peer_work> work() const { return ledger_.all(); }
  [[nodiscard]] const peer_work& own_work() const { return ledger_.own(); }
  /// Returns why it stops or has stopped, and after how many steps; nothing while all is well.
  [[nodiscard]] const std::optional<halt>& stop() const noexcept { return stop_; }
  /// Returns lines for those who follow the job, said since the last call.
  [[nodiscard]] std::vector<std::string> remarks() { return std::exchange(remarks_, {}); }

private:
  enum class part : std::uint8_t { passing, reducing, gathering, applying, resting };
  struct lane_state {
    std::optional<task> busy;
    instant idle_since{};
    std::uint32_t remarks = 0;
  };

  void on(const arrived& e);
  void on(instant now, const computed& e, outbox& out);
  void on(const transmitted& e);
  void on(const received& e);
  void on(const unlinked& e);
  void on_due(instant now, outbox& out);
  void on_measurement(peer_id from, const measurement& m);

  void begin_step();
  void pump(instant now, outbox& out);
  void fill_lanes(outbox& out);
  [[nodiscard]] std::optional<task> next_task(std::uint32_t lane);
  [[nodiscard]] bool advance(instant now, outbox& out);
  [[nodiscard]] bool advance_gathering();
  void measure(outbox& out);
  void finish_step(instant now, outbox& out);
  void settle(outbox& out);

  void stop_at(std::uint64_t step, const error& why);
  void not_finite(const non_finite& at, std::uint64_t step);
  [[nodiscard]] bool stops_now() const;
  void hand(peer_id to, const tensor_ref& what, outbox& out);
  void tell_participants(const message& what, outbox& out) const;
  void tell_account(instant now, outbox& out);
  void report(outbox& out);
  [[nodiscard]] static instant remark_at(const lane_state& lane) noexcept;
  [[nodiscard]] bool waits(std::uint32_t lane) const;
  [[nodiscard]] std::string waits_for(std::uint32_t lane) const;
  [[nodiscard]] std::string part_waits_for() const;

  stage_place where_;
  std::uint64_t steps_;
  pipeline_phase phase_ = pipeline_phase::prepared;
  part part_ = part::passing;
  std::uint64_t step_;  // steps done: the one in work counts from 0
  std::vector<lane_state> lanes_;
  passes passes_;
  reduction reduction_;
  commits commits_;
  ledger ledger_;
  std::set<tensor_ref> gradients_leaving_;

  std::uint32_t apply_next_ = 0;  // layers of the stage given out, and done
  std::uint32_t applied_ = 0;
  std::vector<std::uint64_t> values_;
  std::vector<digest128> states_;

  std::optional<halt> stop_;
  instant account_at_ = never;
  std::vector<std::string> remarks_;
};

static_assert(machine<pipeline>);

}  // namespace perigee::planner
