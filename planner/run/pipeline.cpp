#include "planner/run/pipeline.hpp"

#include "planner/limits.hpp"
#include "proto/base/check.hpp"

#include <algorithm>

namespace perigee::planner {

std::string_view text(pipeline_phase phase) noexcept {
  constexpr std::string_view names[] = {"prepared", "running", "finished", "halted"};
  return names[static_cast<std::size_t>(phase)];
}

pipeline::pipeline(pipeline_config config)
    : where_(std::move(config.where)),
      steps_(config.steps),
      step_(config.base_step),
      lanes_(lane_count(where_.own())),
      passes_(where_),
      reduction_(where_),
      commits_(where_, config.base_step),
      ledger_(where_, config.memory, config.offered) {
  states_.resize(where_.own_stage().layer_count);
}

void pipeline::begin(instant now, outbox& out) {
  if (phase_ != pipeline_phase::prepared) return;
  phase_ = pipeline_phase::running;
  account_at_ = now + limits::account_period;
  for (lane_state& l : lanes_) l.idle_since = now;
  part_ = part::resting;
  pump(now, out);
}

void pipeline::step(instant now, const event& e, outbox& out) {
  if (const auto* here = std::get_if<arrived>(&e)) {
    on(*here);
  } else if (const auto* gone = std::get_if<transmitted>(&e)) {
    on(*gone);
  } else if (const auto* done = std::get_if<computed>(&e)) {
    on(now, *done, out);
  } else if (const auto* in = std::get_if<received>(&e)) {
    on(*in);
  } else if (const auto* lost = std::get_if<unlinked>(&e)) {
    on(*lost);
  } else if (std::holds_alternative<due>(e)) {
    on_due(now, out);
  }
  if (phase_ == pipeline_phase::running) pump(now, out);
}

// ---- events ----

void pipeline::on(const arrived& e) {
  if (phase_ != pipeline_phase::prepared && phase_ != pipeline_phase::running) return;
  if (e.what.step < step_ || e.what.step - step_ > 1) return;
  if (where_.sender_of(e.what) != e.from || e.from == peer_id{}) return;
  const bool fresh = e.what.kind == tensor_kind::gradient ? reduction_.note_arrived(e.what)
                                                          : passes_.note_arrived(e.what);
  if (fresh) ledger_.own().received += where_.size_of(e.what);
}

void pipeline::on(const transmitted& e) {
  if (e.what.kind == tensor_kind::gradient) {
    gradients_leaving_.erase(e.what);
  } else if (e.what.kind != tensor_kind::state) {
    passes_.note_transmitted(e.what);
  }
}

void pipeline::on(instant now, const computed& e, outbox& out) {
  if (e.lane >= lanes_.size() || lanes_[e.lane].busy != e.what) return;
  lane_state& lane = lanes_[e.lane];
  lane = {std::nullopt, now, 0};
  ledger_.own().computing += e.how.elapsed;
  switch (e.what.kind) {
    case task_kind::forward:
    case task_kind::backward: {
      if (e.what.kind == task_kind::backward) ++ledger_.own().micro_batches;
      const auto leaving = passes_.note_computed(e.what);
      if (!e.how.finite) return not_finite(e.how.where, e.what.step);
      if (!leaving || phase_ != pipeline_phase::running) return;
      const std::uint32_t to =
          e.what.kind == task_kind::forward ? where_.where.stage + 1 : where_.where.stage - 1;
      return hand(where_.owner_of(to, e.what.index), *leaving, out);
    }
    case task_kind::fold:
      return reduction_.note_computed(e.what, e.how);
    case task_kind::measure:
      reduction_.note_computed(e.what, e.how);
      if (!e.how.finite) not_finite(e.how.where, e.what.step);
      return;
    case task_kind::apply: {
      ++applied_;
      const auto& halves = e.how.values;
      if (halves.size() == 2)
        states_[e.what.index - where_.own_stage().layer_first] = {halves[0], halves[1]};
      return;
    }
  }
}

void pipeline::on(const received& e) {
  if (const auto* m = std::get_if<measurement>(&e.what)) {
    if (m->epoch == where_.whole.epoch) on_measurement(e.from, *m);
  } else if (const auto* r = std::get_if<state_report>(&e.what)) {
    if (r->epoch == where_.whole.epoch) commits_.note_report(e.from, *r);
  } else if (const auto* a = std::get_if<account>(&e.what)) {
    ledger_.note(e.from, a->work);
  } else if (const auto* h = std::get_if<halt>(&e.what)) {
    if (h->epoch == where_.whole.epoch) stop_at(h->step, h->why);
  }
}

void pipeline::on_measurement(peer_id from, const measurement& m) {
  if (m.stage >= where_.whole.stages.size() || m.stage == where_.where.stage) return;
  if (from != where_.speaker(m.stage)) return;
  if (!m.finite) return not_finite(m.where, m.step);
  commits_.note_measured(m);
}

void pipeline::on(const unlinked& e) {
  if (phase_ != pipeline_phase::running) return;
  const place at = place_of(where_.whole, e.who);
  if (at.stage >= where_.whole.stages.size()) return;
  const bool told_all =
      step_ == steps_ && ledger_.is_complete(e.who, steps_) && commits_.has_told(at, steps_);
  if (told_all) return;
  if (step_ == steps_ && commits_.committed() == steps_) {
    phase_ = pipeline_phase::finished;  // but for its account, which nothing depends on
    return;
  }
  const std::uint64_t now_in = std::min(step_ + 1, steps_);
  stop_at(step_, {errc::unavailable, text(e.who) + " was lost (" + e.why.what + ") at step " +
                                         std::to_string(now_in)});
}

void pipeline::on_due(instant now, outbox& out) {
  if (phase_ != pipeline_phase::running) return;
  if (now >= account_at_) tell_account(now, out);
  for (std::uint32_t i = 0; i < lanes_.size(); ++i) {
    lane_state& lane = lanes_[i];
    if (!waits(i) || now < remark_at(lane)) continue;
    lane.remarks = static_cast<std::uint32_t>((now - lane.idle_since) / limits::wait_remark_after);
    const std::string what = waits_for(i);
    if (what.empty()) continue;
    const std::string line = text(where_.own().peer) + " lane " + std::to_string(i) + " waits " +
                             perigee::text(now - lane.idle_since) + " for " + what;
    out.put(note{level::info, "job " + text(where_.whole.job) + ": " + line});
    remarks_.push_back(line);
  }
}

instant pipeline::deadline() const noexcept {
  if (phase_ != pipeline_phase::running) return never;
  instant next = account_at_;
  for (std::uint32_t i = 0; i < lanes_.size(); ++i)
    if (waits(i)) next = std::min(next, remark_at(lanes_[i]));
  return next;
}

instant pipeline::remark_at(const lane_state& lane) noexcept {
  return lane.idle_since + (lane.remarks + 1) * limits::wait_remark_after;
}

// ---- the course of a step ----

void pipeline::pump(instant now, outbox& out) {
  do { fill_lanes(out); } while (advance(now, out));
  settle(out);
}

void pipeline::fill_lanes(outbox& out) {
  for (std::uint32_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].busy) continue;
    auto what = next_task(i);
    if (!what) continue;
    lanes_[i].busy = *what;
    lanes_[i].remarks = 0;
    out.put(compute{where_.whole.job, where_.whole.epoch, i, std::move(*what)});
  }
}

std::optional<task> pipeline::next_task(std::uint32_t lane) {
  if (stops_now() && part_ != part::applying) return std::nullopt;
  switch (part_) {
    case part::passing:
      return passes_.take(lane);
    case part::reducing:
      return reduction_.take();
    case part::applying:
      if (apply_next_ == where_.own_stage().layer_count) return std::nullopt;
      return task{task_kind::apply, step_, where_.own_stage().layer_first + apply_next_++, values_};
    case part::gathering:
    case part::resting:
      return std::nullopt;
  }
  return std::nullopt;
}

/// Goes on to the next part if this one is done; returns whether it did.
bool pipeline::advance(instant now, outbox& out) {
  for (const hand_over& h : reduction_.hand_overs()) hand(h.to, h.what, out);
  if (stops_now() && part_ != part::applying) return false;
  switch (part_) {
    case part::passing:
      if (!passes_.done()) return false;
      reduction_.open();
      part_ = part::reducing;
      return true;
    case part::reducing:
      if (!reduction_.done()) return false;
      measure(out);
      part_ = part::gathering;
      return true;
    case part::gathering:
      return advance_gathering();
    case part::applying:
      if (applied_ < where_.own_stage().layer_count) return false;
      finish_step(now, out);
      return true;
    case part::resting:
      report(out);
      if (step_ == steps_ || step_ > commits_.committed() + commits::open_max) return false;
      begin_step();
      return true;
  }
  return false;
}

void pipeline::begin_step() {
  passes_.begin(step_);
  reduction_.begin(step_);
  part_ = part::passing;
}

void pipeline::measure(outbox& out) {
  const measurement own = reduction_.measured();
  commits_.note_measured(own);
  if (!where_.first_member()) return;
  for (std::size_t s = 0; s < where_.whole.stages.size(); ++s)
    for (const member& m : where_.whole.stages[s].group)
      if (s != where_.where.stage) out.put(send{m.peer, own});
}

/// What `apply` may change must have left before.
bool pipeline::advance_gathering() {
  if (!gradients_leaving_.empty()) return false;
  auto values = commits_.values(step_);
  if (!values) return false;
  values_ = std::move(*values);
  apply_next_ = 0;
  applied_ = 0;
  part_ = part::applying;
  return true;
}

void pipeline::finish_step(instant now, outbox& out) {
  ++step_;
  part_ = part::resting;
  commits_.note_applied(step_, states_);
  if (step_ == steps_) tell_account(now, out);
}

/// Sends what reports are due, wherever this peer is in its step.
void pipeline::report(outbox& out) {
  while (const auto due_now = commits_.due_report()) {
    if (where_.first_member()) {
      tell_participants(*due_now, out);
    } else {
      out.put(send{where_.speaker(where_.where.stage), *due_now});
    }
  }
  if (const auto& differs = commits_.mismatch()) stop_at(step_, *differs);
}

/// Ends the run when all is told, or when a stop has come to its step.
void pipeline::settle(outbox& out) {
  report(out);
  if (stop_ && stops_now() && part_ != part::applying) {
    phase_ = pipeline_phase::halted;
    stop_->step = step_;
    return;
  }
  const bool complete =
      step_ == steps_ && commits_.committed() == steps_ && ledger_.incomplete(steps_) == peer_id{};
  if (complete) phase_ = pipeline_phase::finished;
}

// ---- stops ----

/// Stops after `step` steps, or as soon as a whole step is done if that is past. The first reason
/// stays; a later stop may only come earlier.
void pipeline::stop_at(std::uint64_t step, const error& why) {
  if (phase_ == pipeline_phase::finished || phase_ == pipeline_phase::halted) return;
  if (!stop_) {
    stop_ = halt{where_.whole.job, where_.whole.epoch, step, why};
  } else {
    stop_->step = std::min(stop_->step, step);
  }
}

bool pipeline::stops_now() const { return stop_ && stop_->step <= step_; }

void pipeline::not_finite(const non_finite& at, std::uint64_t step) {
  std::string line = at.micro_batch < where_.model.micro_batch_count
                         ? "loss is not finite at step " + std::to_string(step + 1) +
                               ", micro-batch " + std::to_string(at.micro_batch)
                         : "gradient is not finite at step " + std::to_string(step + 1);
  line += ", layer " + (at.layer < where_.model.layers.size() ? where_.model.layers[at.layer].name
                                                              : std::to_string(at.layer));
  stop_at(step, {errc::unsupported, line});
}

// ---- what is told ----

void pipeline::hand(peer_id to, const tensor_ref& what, outbox& out) {
  const bytes size = where_.size_of(what);
  if (what.kind == tensor_kind::gradient) gradients_leaving_.insert(what);
  ledger_.own().sent += size;
  out.put(transmit{to, where_.whole.job, digest_of(where_.whole), what, size});
}

void pipeline::tell_participants(const message& what, outbox& out) const {
  for (const peer_id who : participants(where_.whole))
    if (who != where_.own().peer) out.put(send{who, what});
}

void pipeline::tell_account(instant now, outbox& out) {
  account_at_ = now + limits::account_period;
  tell_participants(account{where_.whole.job, ledger_.own()}, out);
}

/// Past the passes the first lane speaks for all.
bool pipeline::waits(std::uint32_t lane) const {
  if (lanes_[lane].busy) return false;
  return part_ == part::passing ? passes_.lack(lane).has_value() : lane == 0;
}

std::string pipeline::waits_for(std::uint32_t lane) const {
  if (part_ != part::passing) return part_waits_for();
  auto what = passes_.lack(lane);
  if (!what) return {};
  const peer_id from = where_.sender_of(*what);
  ++what->step;  // people count steps from 1
  return from == peer_id{} ? text(*what) + " to leave" : text(*what) + " from " + text(from);
}

std::string pipeline::part_waits_for() const {
  const std::string of_step = " of step " + std::to_string(step_ + 1);
  switch (part_) {
    case part::reducing: {
      auto what = reduction_.lack();
      if (!what) return {};
      const peer_id from = where_.sender_of(*what);
      ++what->step;
      return text(*what) + " from " + text(from);
    }
    case part::gathering: {
      if (!gradients_leaving_.empty()) return "its gradients" + of_step + " to leave";
      const auto stage_index = commits_.unmeasured(step_);
      if (!stage_index) return {};
      return "the measurement of stage " + std::to_string(*stage_index) + of_step + " from " +
             text(where_.speaker(*stage_index));
    }
    case part::resting: {
      const std::uint64_t open = commits_.committed();
      if (open < step_)
        return "the state report of step " + std::to_string(open + 1) + " from " +
               text(commits_.unreported());
      return "the account of " + text(ledger_.incomplete(steps_));
    }
    case part::passing:
    case part::applying:
      return {};
  }
  return {};
}

}  // namespace perigee::planner
