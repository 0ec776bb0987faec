// How the members agree on the plan of one job.
//
//   waiting --all linked, calibrated--> planning --proposal--> preparing --executor stands-->
//   accepted --commitment--> committed
//      ^------a participant lost, the proposer silent------|        any --> failed
//      ^------recover: a participant of the committed plan lost------------|
//
// A plan is first made for all members. After a loss it is made for those who are there, as wished
// if it can be, else as the planner likes; if it fits nowhere, it waits for somebody to come.
//
// The member whose hash with (job, epoch) is lowest proposes; the member of rank r waits r times
// proposal_patience for those before it. Each participant answers; a refusal that is about memory
// or the peer itself feeds the proposer's next proposal, of the next epoch.
//
// Guarantees  a plan is committed only when all its participants have accepted it; a higher epoch
//             wins, of one epoch the higher plan digest, until a peer prepares one; a plan under
//             which this peer trains gives way only to a loss; at most proposals_max proposals
//             between two losses; nothing waits without a deadline.
// Requires    messages of one link in order; the proposer is a participant like any other: what it
//             sends to itself comes back as `received`.
// Threads     none; one owner calls it (see planner/machine.hpp).
#pragma once

#include "planner/machine.hpp"
#include "planner/run/plan_check.hpp"
#include "planner/swarm/swarm_view.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace perigee::planner {

enum class agreement_phase : std::uint8_t {
  waiting,    // for members or for the job's profile
  planning,   // a proposal is due, or one is looked at
  preparing,  // the executor is being built
  accepted,   // it stands; the commitment is to come
  committed,
  failed,
};

[[nodiscard]] std::string_view text(agreement_phase phase) noexcept;

class agreement {
public:
  /// `view` and `job` outlive this.
  agreement(swarm_view& view, const job_record& job);

  /// The job's profile is known here, or why it cannot be. `model` outlives this.
  void note_profile(instant now, const result<model_profile>& model, outbox& out);

  /// Consumes one event: `prepared`, messages of the negotiation, whatever changes the view, `due`.
  void step(instant now, const event& e, outbox& out);
  [[nodiscard]] instant deadline() const noexcept;

  /// Gives up: nothing is proposed or accepted any more. Without effect once committed.
  void abandon(const error& why, outbox& out);

  /// A participant of the plan of `epoch` is lost: begins again with those who are there. Returns
  /// false, and does nothing, if this is known, out of date or too late. A `step` must follow.
  bool recover(std::uint64_t epoch, outbox& out);

  /// The job is done here: it holds no more against a plan of those who still need one.
  void note_done() noexcept { done_ = true; }

  [[nodiscard]] agreement_phase phase() const noexcept { return phase_; }
  /// Returns the plan being looked at, prepared, accepted or committed.
  [[nodiscard]] const std::optional<proposal>& current() const noexcept { return current_; }
  /// Returns the highest epoch that was heard of.
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }
  /// Returns why it waits or failed.
  [[nodiscard]] const error& why() const noexcept { return why_; }
  /// Returns lines for those who follow the job, said since the last call.
  [[nodiscard]] std::vector<std::string> remarks();

private:
  void on(instant now, const received& e, outbox& out);
  void on(const prepared& e, outbox& out);
  void on_proposal(instant now, peer_id from, const proposal& p, outbox& out);
  void on_acceptance(peer_id from, const acceptance& a, outbox& out);
  void on_refusal(instant now, peer_id from, const refusal& r, outbox& out);
  void on_commitment(const proposal& p, outbox& out);
  void on_lost_agreement(const proposal& p, outbox& out);
  void put_off(instant now);
  void hope_again();

  void reconsider(instant now, outbox& out);
  void drop_absent(outbox& out);
  void close_round(outbox& out);
  void wait_or_propose(instant now, outbox& out);
  void propose(instant now, outbox& out);
  [[nodiscard]] result<plan> make_plan(outbox& out);
  void send_proposal(outbox& out) const;
  void examine(outbox& out);
  void refuse(peer_id to, const proposal& p, const objection& what, outbox& out) const;
  [[nodiscard]] std::string stale_reason(const proposal& p) const;
  [[nodiscard]] std::optional<objection> own_objection(const proposal& p) const;
  [[nodiscard]] error infeasible(const error& why) const;
  [[nodiscard]] bool has_part(const proposal& p) const;
  void take_back(outbox& out);
  void fail(const error& why, outbox& out);
  void say(level how, const std::string& line, outbox& out);
  void wait_for(instant now, const std::string& line, outbox& out);
  [[nodiscard]] duration back_off() const;
  [[nodiscard]] std::set<peer_id> present() const;

  swarm_view& view_;
  const job_record& job_;
  const result<model_profile>* model_ = nullptr;

  agreement_phase phase_ = agreement_phase::waiting;
  error why_;
  std::uint64_t epoch_ = 0;  // the highest heard of
  std::optional<proposal> current_;
  peer_id proposer_;               // of `current_`
  bool built_ = false;             // an executor of `current_` was asked for
  std::uint64_t built_epoch_ = 0;  // the highest for which one was: never asked for twice
  instant give_up_at_ = never;     // on `current_`

  std::optional<proposal> mine_;  // proposed by this peer and not all answered
  std::set<peer_id> unanswered_;
  instant answer_by_ = never;
  std::uint32_t proposals_ = 0;
  std::map<peer_id, bytes> offers_;  // as refusals told
  std::map<peer_id, error> unable_;  // peers that refused for themselves
  std::set<peer_id> doubtful_;       // told since the last loss that somebody is missing
  error last_refusal_;

  bool done_ = false;
  bool recovering_ = false;            // since the last loss: plans for those who are there
  std::uint64_t recovered_epoch_ = 0;  // whose plan was given up
  std::set<peer_id> hopeless_;         // nothing fits on these peers, and why
  std::string hopeless_why_;

  instant propose_at_ = never;
  instant remark_at_ = never;
  std::vector<std::string> remarks_;
};

static_assert(machine<agreement>);

}  // namespace perigee::planner
