// One job as one peer knows it: from its submission or first mention to its end.
//
//   waiting -> planning -> preparing -> running -> finished
//       any of them --halt--> halted
//       any but halted --a participant is lost--> planning, among those who are there
//
// The agreement makes the plan, the pipeline runs this peer's part of it. A peer without a part
// asks a participant for its news, so that a job can be followed through any peer.
//
// Guarantees  a job that is submitted here spreads only after its profile stood here; who follows
//             it hears of each phase and each finished step; a halt found here is told to all
//             linked members once. After a loss the job begins again from the state that everybody
//             has, that before the first step: the weights come out the same.
// Threads     none; one owner calls it (see planner/machine.hpp).
#pragma once

#include "planner/machine.hpp"
#include "planner/run/pipeline.hpp"
#include "planner/swarm/agreement.hpp"

#include <memory>
#include <optional>
#include <set>
#include <string>

namespace perigee::planner {

/// How a peer came to know a job.
enum class origin : std::uint8_t { submitted_here, heard_of };

class job {
public:
  /// `view` outlives this. Asks the shell for the job's profile.
  job(swarm_view& view, job_record record, origin from, outbox& out);
  job(const job&) = delete;
  job& operator=(const job&) = delete;

  void step(instant now, const event& e, outbox& out);
  [[nodiscard]] instant deadline() const noexcept;

  /// Somebody submits the job: a receipt follows, now or when its profile is known.
  void answer_submission(peer_id client, outbox& out);
  /// From now on `who` hears of the job, beginning with how it stands.
  void subscribe(peer_id who, outbox& out);
  void forget(peer_id who);
  /// Sends a layer's state, or a `missing` that says why not and who has it.
  void answer_state(peer_id who, std::uint32_t layer, outbox& out) const;
  /// A member linked: tells it of a job that is not over.
  void introduce_to(peer_id member, outbox& out) const;
  /// A member tells of the job as of one that is new: learns if it halted.
  void answer_record(peer_id member, outbox& out) const;
  /// Lets go of what the shell holds for the job; nothing else may be asked of it after that.
  void release(outbox& out);

  [[nodiscard]] const job_record& record() const noexcept { return record_; }
  [[nodiscard]] job_phase phase() const;
  [[nodiscard]] bool is_over() const;
  /// Returns whether its submission failed here: nobody else knows of it.
  [[nodiscard]] bool is_refused() const noexcept { return refused_; }
  [[nodiscard]] const std::set<peer_id>& subscribers() const noexcept { return subscribers_; }
  /// Returns the highest epoch that was heard of.
  [[nodiscard]] std::uint64_t last_epoch() const;
  [[nodiscard]] progress report() const;

private:
  void on(instant now, const profiled& e, outbox& out);
  void on_halt(instant now, const received& e, outbox& out);
  void on_loss(instant now, const halt& what, outbox& out);
  void forget_run();
  [[nodiscard]] bool is_of_this_plan(const event& e) const;
  void on_progress(peer_id from, const progress& p, outbox& out);
  void follow(instant now, outbox& out);
  void follow_agreement(instant now, outbox& out);
  void follow_pipeline(instant now, outbox& out);
  void make_pipeline();
  void start(instant now, outbox& out);
  void observe(instant now, outbox& out);
  void halt_for_all(const error& why, outbox& out);
  void tell(outbox& out) const;
  void pass_on(const std::vector<std::string>& lines, outbox& out) const;
  [[nodiscard]] std::string holders_of(std::uint32_t layer) const;

  swarm_view& view_;
  job_record record_;
  origin from_;
  std::optional<result<model_profile>> model_;
  agreement agreement_;
  std::unique_ptr<pipeline> pipeline_;
  std::uint64_t plan_digest_ = 0;  // the pipeline's
  std::set<peer_id> submitters_;   // to be answered when the profile is known
  std::set<peer_id> subscribers_;
  bool refused_ = false;
  std::uint64_t heard_epoch_ = 0;  // the highest of those that halted

  std::optional<error> halted_;  // without a pipeline that runs
  bool halt_known_ = false;      // to the others
  peer_id observed_;             // the participant that tells this peer, which has no part
  std::optional<progress> relayed_;

  job_phase told_phase_ = job_phase::waiting;
  std::uint64_t told_step_ = 0;
  instant last_step_at_{};
  duration measured_step_{};
};

static_assert(machine<job>);

}  // namespace perigee::planner
