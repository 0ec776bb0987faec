#include "planner/job.hpp"

#include "planner/limits.hpp"
#include "proto/stage_memory.hpp"

#include <algorithm>

namespace perigee::planner {

job::job(swarm_view& view, job_record record, origin from, outbox& out)
    : view_(view), record_(std::move(record)), from_(from), agreement_(view_, record_) {
  out.put(profile{record_});
}

void job::step(instant now, const event& e, outbox& out) {
  const auto* in = std::get_if<received>(&e);
  if (const auto* known = std::get_if<profiled>(&e)) {
    on(now, *known, out);
  } else if (in != nullptr && std::holds_alternative<halt>(in->what)) {
    on_halt(now, *in, out);
  } else if (in != nullptr && std::holds_alternative<progress>(in->what)) {
    on_progress(in->from, std::get<progress>(in->what), out);
  } else if (is_of_this_plan(e)) {
    agreement_.step(now, e, out);
    if (pipeline_) pipeline_->step(now, e, out);
  }
  if (const auto* down = std::get_if<unlinked>(&e); down != nullptr && down->who == observed_)
    observed_ = {};
  follow(now, out);
}

instant job::deadline() const noexcept {
  return std::min(agreement_.deadline(), pipeline_ ? pipeline_->deadline() : never);
}

/// Answers and tensors of a plan that was given up may still come.
bool job::is_of_this_plan(const event& e) const {
  const auto is_current = [this](std::uint64_t digest) {
    return pipeline_ && digest == plan_digest_;
  };
  if (const auto* done = std::get_if<computed>(&e))
    return pipeline_ && done->epoch == pipeline_->where().whole.epoch;
  if (const auto* here = std::get_if<arrived>(&e)) return is_current(here->plan_digest);
  if (const auto* gone = std::get_if<transmitted>(&e)) return is_current(gone->plan_digest);
  return true;
}

// ---- events ----

void job::on(instant now, const profiled& e, outbox& out) {
  if (model_) return;
  model_ = e.what;
  const bool spreads = from_ == origin::submitted_here;
  if (!*model_ && spreads) {
    refused_ = true;
    halted_ = model_->why();
    out.put(
        note{level::warning, "job " + text(record_.job) + " is refused: " + model_->why().what});
    for (const peer_id who : submitters_)
      out.put(send{who, receipt{record_.job, false, model_->why()}});
    return;
  }
  if (spreads) view_.broadcast(record_, out);
  for (const peer_id who : submitters_) out.put(send{who, receipt{record_.job, true, {}}});
  submitters_.clear();
  agreement_.note_profile(now, *model_, out);
}

void job::on_halt(instant now, const received& e, outbox& out) {
  const halt& h = std::get<halt>(e.what);
  if (is_over() || h.epoch < record_.after_epoch) return;
  heard_epoch_ = std::max(heard_epoch_, h.epoch);
  if (h.why.code == errc::unavailable) return on_loss(now, h, out);
  if (agreement_.phase() != agreement_phase::committed) {
    halt_known_ = true;
    agreement_.abandon(h.why, out);
    return;
  }
  if (h.epoch != agreement_.current()->what.epoch) return;
  halt_known_ = true;
  if (pipeline_) {
    pipeline_->step(now, e, out);
  } else {
    halted_ = h.why;
  }
}

/// A plan is given up because somebody who takes part is not there any more. Who hears of it passes
/// it on once: not everybody has a link to who found it.
void job::on_loss(instant now, const halt& what, outbox& out) {
  const bool trains = pipeline_ && pipeline_->phase() != pipeline_phase::prepared &&
                      pipeline_->phase() != pipeline_phase::finished;
  const std::uint64_t steps = trains ? pipeline_->steps_done() : 0;
  const std::uint64_t micro_batches = trains ? pipeline_->own_work().micro_batches : 0;
  if (!agreement_.recover(what.epoch, out)) return;
  view_.broadcast(what, out);
  std::string line = what.why.what;
  if (trains)
    line += "; lost " + std::to_string(micro_batches) + " micro-batches of " +
            std::to_string(steps + 1) + " steps here, redone";
  out.put(note{level::warning, "job " + text(record_.job) + ": " + line});
  pass_on({line}, out);
  forget_run();
  agreement_.step(now, due{}, out);
}

void job::forget_run() {
  pipeline_.reset();
  relayed_.reset();
  observed_ = {};
  told_step_ = 0;
}

/// News for a peer without a part, from the participant that it asked.
void job::on_progress(peer_id from, const progress& p, outbox& out) {
  if (from != observed_ || halted_) return;
  relayed_ = p;
  if (p.phase == job_phase::finished) agreement_.note_done();
  told_phase_ = p.phase;
  tell(out);
}

void job::answer_submission(peer_id client, outbox& out) {
  if (!model_ && from_ == origin::submitted_here) {
    submitters_.insert(client);
    return;
  }
  out.put(send{client, receipt{record_.job, true, {}}});
}

void job::subscribe(peer_id who, outbox& out) {
  subscribers_.insert(who);
  out.put(send{who, report()});
}

void job::forget(peer_id who) {
  submitters_.erase(who);
  subscribers_.erase(who);
}

void job::introduce_to(peer_id member, outbox& out) const {
  if (is_over() || (from_ == origin::submitted_here && !model_)) return;
  out.put(send{member, record_});
  if (agreement_.phase() == agreement_phase::committed)
    out.put(send{member, commitment{*agreement_.current()}});
}

void job::answer_record(peer_id member, outbox& out) const {
  if (phase() == job_phase::halted)
    out.put(send{member, halt{record_.job, last_epoch(), 0, report().why}});
}

std::uint64_t job::last_epoch() const { return std::max(agreement_.epoch(), heard_epoch_); }

void job::release(outbox& out) {
  agreement_.abandon({errc::stale, "it began anew"}, out);
  if (pipeline_) out.put(discard{record_.job, pipeline_->where().whole.epoch});
  view_.reserved.erase(record_.job);
  pipeline_.reset();
}

// ---- what the parts came to ----

void job::follow(instant now, outbox& out) {
  follow_agreement(now, out);
  if (pipeline_) follow_pipeline(now, out);
  if (const job_phase is = phase(); is != told_phase_) {
    told_phase_ = is;
    tell(out);
  }
}

void job::follow_agreement(instant now, outbox& out) {
  pass_on(agreement_.remarks(), out);
  const agreement_phase is = agreement_.phase();
  const bool stands = is == agreement_phase::accepted || is == agreement_phase::committed;
  if (!stands && (pipeline_ || relayed_ || observed_ != peer_id{})) forget_run();
  if (halted_) return;
  if (is == agreement_phase::failed) return halt_for_all(agreement_.why(), out);
  if (!stands) return;
  if (is == agreement_phase::accepted && !pipeline_) make_pipeline();
  if (is != agreement_phase::committed) return;
  if (!pipeline_) {
    if (observed_ == peer_id{} && !is_over()) observe(now, out);
  } else if (pipeline_->phase() == pipeline_phase::prepared) {
    start(now, out);
  }
}

void job::make_pipeline() {
  const plan& p = agreement_.current()->what;
  pipeline_config config;
  config.where = {p, place_of(p, view_.self.peer), **model_};
  config.base_step = agreement_.current()->base_step;
  config.steps = record_.spec.steps;
  config.memory = stage_memory(**model_, p, config.where.where);
  config.offered = view_.self.memory_offer;
  plan_digest_ = digest_of(p);
  pipeline_ = std::make_unique<pipeline>(std::move(config));
}

void job::start(instant now, outbox& out) {
  const plan& p = pipeline_->where().whole;
  for (const peer_id who : participants(p)) {
    if (view_.is_present(who)) continue;
    const error why{errc::unavailable, text(view_.self.peer) + " has no link to " + text(who) +
                                           ", with which it should train"};
    return on_loss(now, {record_.job, p.epoch, 0, why}, out);
  }
  out.put(note{level::info, "job " + text(record_.job) + " runs by " + text(p)});
  last_step_at_ = now;
  told_step_ = agreement_.current()->base_step;
  told_phase_ = job_phase::running;
  tell(out);
  pipeline_->begin(now, out);
}

/// This peer has no part in the plan.
void job::observe(instant now, outbox& out) {
  const std::vector<peer_id> all = participants(agreement_.current()->what);
  for (const peer_id who : all) {
    if (!view_.is_present(who)) continue;
    observed_ = who;
    out.put(send{who, subscription{record_.job}});
    return;
  }
  const std::string lost =
      all.empty() ? "nobody has a part in its plan"
                  : text(all.front()) + " was lost, and with it every peer that trains";
  const std::uint64_t epoch = agreement_.current()->what.epoch;
  on_loss(now, {record_.job, epoch, 0, {errc::unavailable, lost}}, out);
}

void job::follow_pipeline(instant now, outbox& out) {
  pass_on(pipeline_->remarks(), out);
  if (pipeline_->phase() == pipeline_phase::finished) agreement_.note_done();
  if (pipeline_->stop() && pipeline_->stop()->why.code == errc::unavailable)
    return on_loss(now, halt(*pipeline_->stop()), out);
  if (pipeline_->stop() && !halt_known_) {
    halt_known_ = true;
    out.put(note{level::warning,
                 "job " + text(record_.job) + " halts: " + pipeline_->stop()->why.what});
    view_.broadcast(*pipeline_->stop(), out);
  }
  const std::uint64_t step = pipeline_->last().step;
  if (step <= told_step_) return;
  measured_step_ = (now - last_step_at_) / static_cast<duration::rep>(step - told_step_);
  last_step_at_ = now;
  told_step_ = step;
  told_phase_ = phase();
  tell(out);
}

void job::halt_for_all(const error& why, outbox& out) {
  halted_ = why;
  out.put(note{level::warning, "job " + text(record_.job) + " halts: " + why.what});
  if (halt_known_) return;
  halt_known_ = true;
  view_.broadcast(halt{record_.job, agreement_.epoch(), 0, why}, out);
}

// ---- what is told ----

job_phase job::phase() const {
  if (halted_) return job_phase::halted;
  if (pipeline_) {
    switch (pipeline_->phase()) {
      case pipeline_phase::prepared:
        return job_phase::preparing;
      case pipeline_phase::running:
        return job_phase::running;
      case pipeline_phase::finished:
        return job_phase::finished;
      case pipeline_phase::halted:
        return job_phase::halted;
    }
  }
  if (relayed_) return relayed_->phase;
  switch (agreement_.phase()) {
    case agreement_phase::waiting:
      return job_phase::waiting;
    case agreement_phase::planning:
      return job_phase::planning;
    case agreement_phase::preparing:
    case agreement_phase::accepted:
      return job_phase::preparing;
    case agreement_phase::committed:
      return job_phase::running;
    case agreement_phase::failed:
      return job_phase::halted;
  }
  return job_phase::waiting;
}

bool job::is_over() const {
  const job_phase is = phase();
  return is == job_phase::finished || is == job_phase::halted;
}

progress job::report() const {
  progress p;
  if (relayed_) p = *relayed_;
  p.job = record_.job;
  p.phase = phase();
  p.steps = record_.spec.steps;
  if (agreement_.current()) p.current = agreement_.current()->what;
  if (halted_) p.why = *halted_;
  if (!pipeline_) {
    if (p.phase == job_phase::waiting) p.why = agreement_.why();
    return p;
  }
  p.last = pipeline_->last();
  p.step = p.phase == job_phase::halted ? pipeline_->steps_done() : p.last.step;
  p.work = pipeline_->work();
  p.measured_step = measured_step_;
  if (p.phase == job_phase::halted && pipeline_->stop()) p.why = pipeline_->stop()->why;
  return p;
}

void job::tell(outbox& out) const {
  const progress news = report();
  for (const peer_id who : subscribers_) out.put(send{who, news});
  out.put(announce{news});
}

void job::pass_on(const std::vector<std::string>& lines, outbox& out) const {
  for (const std::string& line : lines)
    for (const peer_id who : subscribers_) out.put(send{who, remark{record_.job, line}});
}

// ---- states ----

void job::answer_state(peer_id who, std::uint32_t layer, outbox& out) const {
  const auto miss = [&](errc code, const std::string& why) {
    out.put(send{who, missing{record_.job, layer, {code, why}}});
  };
  if (!is_over()) return miss(errc::unavailable, "the job runs");
  if (!agreement_.current()) return miss(errc::unavailable, "the job never ran");
  const std::string holders = holders_of(layer);
  if (holders.empty())
    return miss(errc::malformed, "the model has no layer " + std::to_string(layer));
  if (!pipeline_ || !pipeline_->where().has_layer(layer))
    return miss(errc::unavailable, "layer " + std::to_string(layer) + " is held by " + holders);
  const stage_place& at = pipeline_->where();
  const tensor_ref state{tensor_kind::state, pipeline_->steps_done(), layer, 0};
  out.put(transmit{who, record_.job, digest_of(at.whole), state, at.size_of(state)});
}

std::string job::holders_of(std::uint32_t layer) const {
  std::string holders;
  for (const stage& s : agreement_.current()->what.stages) {
    if (layer < s.layer_first || layer - s.layer_first >= s.layer_count) continue;
    for (const member& m : s.group) holders += (holders.empty() ? "" : ", ") + text(m.peer);
  }
  return holders;
}

}  // namespace perigee::planner
