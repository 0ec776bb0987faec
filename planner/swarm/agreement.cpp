#include "planner/swarm/agreement.hpp"

#include "planner/limits.hpp"
#include "planner/plan/partition.hpp"
#include "proto/base/hash.hpp"
#include "proto/stage_memory.hpp"

#include <algorithm>

namespace perigee::planner {

std::string_view text(agreement_phase phase) noexcept {
  constexpr std::string_view names[] = {"waiting",  "planning",  "preparing",
                                        "accepted", "committed", "failed"};
  return names[static_cast<std::size_t>(phase)];
}

agreement::agreement(swarm_view& view, const job_record& job)
    : view_(view),
      job_(job),
      epoch_(job.after_epoch),
      built_epoch_(job.after_epoch),
      recovered_epoch_(job.after_epoch) {}

void agreement::note_profile(instant now, const result<model_profile>& model, outbox& out) {
  model_ = &model;
  if (current_ && !built_ && phase_ == agreement_phase::planning) examine(out);
  reconsider(now, out);
}

void agreement::step(instant now, const event& e, outbox& out) {
  if (const auto* in = std::get_if<received>(&e)) {
    on(now, *in, out);
  } else if (const auto* built = std::get_if<prepared>(&e)) {
    on(*built, out);
  }
  reconsider(now, out);
}

instant agreement::deadline() const noexcept {
  if (phase_ == agreement_phase::committed || phase_ == agreement_phase::failed) return never;
  if (mine_ || current_)
    return std::min(mine_ ? answer_by_ : never, current_ ? give_up_at_ : never);
  return std::min(propose_at_, remark_at_);
}

std::vector<std::string> agreement::remarks() { return std::exchange(remarks_, {}); }

void agreement::abandon(const error& why, outbox& out) {
  if (phase_ == agreement_phase::committed || phase_ == agreement_phase::failed) return;
  fail(why, out);
}

bool agreement::recover(std::uint64_t epoch, outbox& out) {
  if (epoch <= recovered_epoch_ || phase_ == agreement_phase::failed) return false;
  const bool committed = phase_ == agreement_phase::committed;
  if (committed ? epoch != current_->what.epoch : epoch < epoch_) return false;
  take_back(out);
  mine_.reset();
  epoch_ = std::max(epoch_, epoch);
  recovered_epoch_ = epoch;
  recovering_ = true;
  proposals_ = 0;
  offers_.clear();
  unable_.clear();
  doubtful_.clear();
  hopeless_.clear();
  propose_at_ = never;
  remark_at_ = never;
  why_ = {};
  phase_ = agreement_phase::planning;
  return true;
}

// ---- messages ----

void agreement::on(instant now, const received& e, outbox& out) {
  if (const auto* p = std::get_if<proposal>(&e.what)) {
    on_proposal(now, e.from, *p, out);
  } else if (const auto* a = std::get_if<acceptance>(&e.what)) {
    on_acceptance(e.from, *a, out);
  } else if (const auto* r = std::get_if<refusal>(&e.what)) {
    on_refusal(now, e.from, *r, out);
  } else if (const auto* c = std::get_if<commitment>(&e.what)) {
    on_commitment(c->what, out);
  }
}

void agreement::on_proposal(instant now, peer_id from, const proposal& p, outbox& out) {
  if (phase_ == agreement_phase::failed) {
    out.put(send{from, halt{job_.job, p.what.epoch, 0, why_}});
    return;
  }
  if (current_ && *current_ == p) return;
  if (const std::string why = stale_reason(p); !why.empty()) {
    refuse(from, p, {{errc::stale, why}, {}, {}}, out);
    // Whoever does not know of the plan that runs learns of it.
    if (phase_ == agreement_phase::committed) out.put(send{from, commitment{*current_}});
    return;
  }
  recovering_ |= phase_ == agreement_phase::committed;
  take_back(out);
  if (mine_ && *mine_ != p) mine_.reset();
  epoch_ = p.what.epoch;
  current_ = p;
  proposer_ = from;
  phase_ = agreement_phase::planning;
  give_up_at_ = now + 2 * limits::answer_patience;
  examine(out);
}

std::string agreement::stale_reason(const proposal& p) const {
  const std::string epoch = std::to_string(p.what.epoch);
  const bool yields = done_ && current_ && p.what.epoch > current_->what.epoch;
  if (phase_ == agreement_phase::committed && !yields)
    return "the job runs in epoch " + std::to_string(current_->what.epoch);
  if (p.what.epoch < epoch_) return "epoch " + epoch + " is older than " + std::to_string(epoch_);
  if (p.what.epoch <= built_epoch_)
    return text(view_.self.peer) + " prepared another plan of epoch " + epoch;
  if (current_ && p.what.epoch == current_->what.epoch &&
      digest_of(p.what) < digest_of(current_->what))
    return "another plan of epoch " + epoch + " goes first";
  return {};
}

/// Answers the current proposal if this peer has a part in it and knows enough.
void agreement::examine(outbox& out) {
  if (!has_part(*current_) || model_ == nullptr) return;
  if (const auto against = own_objection(*current_)) {
    const proposal refused = *current_;
    refuse(proposer_, refused, *against, out);
    take_back(out);
    return;
  }
  phase_ = agreement_phase::preparing;
  built_ = true;
  built_epoch_ = current_->what.epoch;
  const place where = place_of(current_->what, view_.self.peer);
  view_.reserved[job_.job] = stage_memory(**model_, current_->what, where);
  out.put(prepare{*current_});
}

std::optional<objection> agreement::own_objection(const proposal& p) const {
  const std::string self = text(view_.self.peer);
  if (!*model_)
    return objection{
        {model_->why().code, self + " cannot take part: " + model_->why().what}, {}, {}};
  if (!is_calibrated(view_.self))
    return objection{{errc::unavailable, self + " is not calibrated yet"}, {}, {}};
  if (p.base_step != 0)
    return objection{{errc::unsupported,
                      self + " does not have the state after step " + std::to_string(p.base_step)},
                     {},
                     {}};
  const capacity own{view_.self.peer, view_.self.workers, view_.memory_for(job_.job)};
  auto against = objection_to(p.what, **model_, own);
  if (against && against->needed > against->offered && own.memory < view_.self.memory_offer)
    against->why.what +=
        " (" + text(view_.self.memory_offer - own.memory) + " are held for other jobs)";
  return against;
}

void agreement::refuse(peer_id to, const proposal& p, const objection& what, outbox& out) const {
  out.put(send{
      to, refusal{job_.job, p.what.epoch, digest_of(p.what), what.why, what.needed, what.offered}});
}

void agreement::on(const prepared& e, outbox& out) {
  if (phase_ != agreement_phase::preparing || e.epoch != current_->what.epoch) return;
  if (e.how) {
    phase_ = agreement_phase::accepted;
    out.put(send{proposer_, acceptance{job_.job, e.epoch, digest_of(current_->what)}});
    return;
  }
  const error why{e.how.why().code,
                  text(view_.self.peer) + " cannot prepare its part: " + e.how.why().what};
  const proposal refused = *current_;
  take_back(out);
  refuse(proposer_, refused, {why, {}, {}}, out);
}

void agreement::on_acceptance(peer_id from, const acceptance& a, outbox& out) {
  if (!mine_ || a.epoch != mine_->what.epoch || a.plan_digest != digest_of(mine_->what)) return;
  if (unanswered_.erase(from) == 0 || !unanswered_.empty()) return;
  const commitment agreed{*mine_};
  mine_.reset();
  view_.broadcast(agreed, out);
  out.put(send{view_.self.peer, agreed});
}

void agreement::on_refusal(instant now, peer_id from, const refusal& r, outbox& out) {
  if (!mine_ || r.epoch != mine_->what.epoch || r.plan_digest != digest_of(mine_->what)) return;
  if (!unanswered_.contains(from)) return;
  const bool own_plan_here = current_ && *current_ == *mine_;
  mine_.reset();
  if (own_plan_here) take_back(out);
  last_refusal_ = r.why;
  say(level::info,
      text(from) + " refuses the plan of epoch " + std::to_string(r.epoch) + ": " + r.why.what,
      out);
  // News of a loss is on its way to one of us: it is asked again before it is left out.
  const bool missing = r.why.code == errc::unavailable;
  if (r.why.code == errc::stale || (missing && doubtful_.insert(from).second)) return put_off(now);
  if (r.needed > r.offered) {
    offers_[from] = r.offered;
  } else {
    unable_[from] = r.why;
  }
  propose(now, out);
}

/// Asks again later. After a loss such a round counts for nothing: others may have to learn of it.
void agreement::put_off(instant now) {
  if (recovering_) --proposals_;
  propose_at_ = now + limits::proposal_patience + back_off();
}

void agreement::on_commitment(const proposal& p, outbox& out) {
  if (phase_ == agreement_phase::committed || phase_ == agreement_phase::failed) return;
  if (p.what.epoch <= recovered_epoch_) return;
  const bool ready = phase_ == agreement_phase::accepted && *current_ == p;
  if (has_part(p) && !ready) return on_lost_agreement(p, out);
  epoch_ = std::max(epoch_, p.what.epoch);
  if (!ready) take_back(out);
  current_ = p;
  mine_.reset();
  done_ = false;
  phase_ = agreement_phase::committed;
}

/// This peer gave up what others have committed: to them it is as good as lost.
void agreement::on_lost_agreement(const proposal& p, outbox& out) {
  const error why{errc::unavailable, text(view_.self.peer) + " gave up the plan of epoch " +
                                         std::to_string(p.what.epoch) + " before it was committed"};
  say(level::warning, why.what, out);
  view_.broadcast(halt{job_.job, p.what.epoch, p.base_step, why}, out);
  (void)recover(p.what.epoch, out);
}

// ---- what time and the swarm bring ----

void agreement::reconsider(instant now, outbox& out) {
  if (phase_ == agreement_phase::committed || phase_ == agreement_phase::failed) return;
  drop_absent(out);
  if (mine_ && now >= answer_by_) {
    close_round(out);
    return;
  }
  if (current_ && now >= give_up_at_) {
    say(level::warning,
        text(proposer_) + " did not commit the plan of epoch " +
            std::to_string(current_->what.epoch),
        out);
    take_back(out);
  }
  if (!mine_ && !current_) wait_or_propose(now, out);
}

void agreement::drop_absent(outbox& out) {
  const auto lacks = [&](const proposal& p) {
    const auto all = participants(p.what);
    return !std::all_of(all.begin(), all.end(), [&](peer_id w) { return view_.is_present(w); });
  };
  if (mine_ && lacks(*mine_)) mine_.reset();
  if (!current_ || (view_.is_present(proposer_) && !lacks(*current_))) return;
  const proposal gone = *current_;
  take_back(out);
  if (!view_.is_present(proposer_) || proposer_ == view_.self.peer || !has_part(gone)) return;
  refuse(
      proposer_, gone,
      {{errc::unavailable, text(view_.self.peer) + " has no link to a peer of the plan"}, {}, {}},
      out);
}

/// The answers did not come in time.
void agreement::close_round(outbox& out) {
  std::string silent;
  for (const peer_id who : unanswered_) silent += (silent.empty() ? "" : ", ") + text(who);
  fail({errc::timed_out, silent + " did not answer the proposal of epoch " +
                             std::to_string(mine_->what.epoch) + " within " +
                             perigee::text(limits::answer_patience)},
       out);
}

void agreement::wait_or_propose(instant now, outbox& out) {
  if (model_ == nullptr) {
    // Reading is quick as a rule: nothing is said before it takes long.
    if (remark_at_ == never) remark_at_ = now + limits::wait_remark_after;
    why_ = {errc::unavailable, "waiting for the data to be read"};
    return wait_for(now, why_.what, out);
  }
  if (!*model_)
    return wait_for(now, "cannot take part, waiting for a plan of others: " + model_->why().what,
                    out);
  const std::string lack = view_.lacking(recovering_ ? whom::present : whom::all);
  if (!lack.empty()) return wait_for(now, lack, out);
  if (!hopeless_.empty() && hopeless_ == present()) return wait_for(now, hopeless_why_, out);
  if (!hopeless_.empty()) hope_again();
  remark_at_ = never;
  why_ = {};
  phase_ = agreement_phase::planning;
  if (propose_at_ == never) propose_at_ = now + back_off();
  if (now >= propose_at_) propose(now, out);
}

void agreement::wait_for(instant now, const std::string& line, outbox& out) {
  phase_ = agreement_phase::waiting;
  propose_at_ = never;
  if (why_.what == line && now < remark_at_) return;
  why_ = {errc::unavailable, line};
  remark_at_ = now + limits::wait_remark_after;
  say(level::info, line, out);
}

/// Returns how long this peer waits for those whose hash with the next epoch is lower.
duration agreement::back_off() const {
  const auto rank_of = [&](peer_id who) {
    const auto hash = hash_of(job_.job.value.high, job_.job.value.low, epoch_ + 1, who.value);
    return std::pair{hash, who};
  };
  const auto own = rank_of(view_.self.peer);
  const auto before = std::count_if(view_.members.begin(), view_.members.end(), [&](auto& m) {
    return m.second.linked && rank_of(m.first) < own;
  });
  return before * limits::proposal_patience;
}

void agreement::propose(instant now, outbox& out) {
  propose_at_ = never;
  if (proposals_ == limits::proposals_max) {
    const bool missing = last_refusal_.code == errc::unavailable;
    fail({missing ? errc::timed_out : last_refusal_.code,
          "no plan was accepted in " + std::to_string(proposals_) +
              " proposals; the last was refused: " + last_refusal_.what},
         out);
    return;
  }
  ++proposals_;
  auto made = make_plan(out);
  if (!made && recovering_) {
    hopeless_ = present();
    hopeless_why_ = "waiting for a peer to come: " + infeasible(made.why()).what;
    return wait_for(now, hopeless_why_, out);
  }
  if (!made) return fail(infeasible(made.why()), out);
  mine_ = proposal{*made, 0};
  const auto all = participants(*made);
  unanswered_ = {all.begin(), all.end()};
  answer_by_ = now + limits::answer_patience;
  phase_ = agreement_phase::planning;
  send_proposal(out);
}

result<plan> agreement::make_plan(outbox& out) {
  planning_input input;
  input.model = &**model_;
  input.job = job_.job;
  input.epoch = ++epoch_;
  input.wanted = &job_.wanted;
  for (const peer_record& r : view_.records())
    if (!unable_.contains(r.peer)) input.peers.push_back(r);
  for (const auto& [who, offer] : offers_) input.memory.push_back({who, offer});
  auto made = partition(input);
  if (made || !recovering_) return made;
  say(level::info, "the plan that was asked for is not possible any more: " + made.why().what, out);
  wishes free;
  free.schedule = job_.wanted.schedule;
  input.wanted = &free;
  return partition(input);
}

/// Somebody came or went: what was refused before may be accepted now.
void agreement::hope_again() {
  hopeless_.clear();
  offers_.clear();
  unable_.clear();
  proposals_ = 0;
}

std::set<peer_id> agreement::present() const {
  std::set<peer_id> all{view_.self.peer};
  for (const auto& [id, m] : view_.members)
    if (m.linked) all.insert(id);
  return all;
}

/// The job's record goes ahead on each link, so that nobody is asked about a job it never heard of.
void agreement::send_proposal(outbox& out) const {
  view_.broadcast(job_, out);
  view_.broadcast(*mine_, out);
  out.put(send{view_.self.peer, *mine_});
}

error agreement::infeasible(const error& why) const {
  error full = why;
  for (const auto& [who, reason] : unable_)
    full.what += "; without " + text(who) + ": " + reason.what;
  return full;
}

// ---- state ----

bool agreement::has_part(const proposal& p) const {
  return place_of(p.what, view_.self.peer).stage < p.what.stages.size();
}

void agreement::take_back(outbox& out) {
  if (!current_) return;
  if (built_) {
    out.put(discard{job_.job, current_->what.epoch});
    view_.reserved.erase(job_.job);
  }
  built_ = false;
  current_.reset();
  give_up_at_ = never;
  phase_ = agreement_phase::waiting;
}

void agreement::fail(const error& why, outbox& out) {
  take_back(out);
  mine_.reset();
  phase_ = agreement_phase::failed;
  why_ = why;
}

void agreement::say(level how, const std::string& line, outbox& out) {
  out.put(note{how, "job " + text(job_.job) + ": " + line});
  remarks_.push_back(line);
}

}  // namespace perigee::planner
