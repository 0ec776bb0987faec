#include "planner/jobs.hpp"

#include "planner/limits.hpp"

#include <algorithm>

namespace perigee::planner {

namespace {

/// Returns the job that a message between members is about, if it is about one.
std::optional<job_id> subject_of(const message& what) {
  if (const auto* m = std::get_if<proposal>(&what)) return m->what.job;
  if (const auto* m = std::get_if<commitment>(&what)) return m->what.what.job;
  if (const auto* m = std::get_if<acceptance>(&what)) return m->job;
  if (const auto* m = std::get_if<refusal>(&what)) return m->job;
  if (const auto* m = std::get_if<measurement>(&what)) return m->job;
  if (const auto* m = std::get_if<state_report>(&what)) return m->job;
  if (const auto* m = std::get_if<halt>(&what)) return m->job;
  if (const auto* m = std::get_if<progress>(&what)) return m->job;
  if (const auto* m = std::get_if<account>(&what)) return m->job;
  return std::nullopt;
}

/// A job that halted is tried again, one that finished goes on if it is to be longer or shorter.
bool begins_anew(const job& known, const job_record& asked) {
  if (known.phase() == job_phase::halted) return true;
  return known.is_over() && known.record().spec.steps != asked.spec.steps;
}

}  // namespace

void jobs::step(instant now, const event& e, outbox& out) {
  if (const auto* in = std::get_if<received>(&e)) {
    on(now, *in, out);
  } else if (const auto* tensor = std::get_if<arrived>(&e)) {
    to_job(now, tensor->job, e, out);
  } else if (const auto* gone = std::get_if<transmitted>(&e)) {
    to_job(now, gone->job, e, out);
  } else if (const auto* known = std::get_if<profiled>(&e)) {
    to_job(now, known->job, e, out);
  } else if (const auto* built = std::get_if<prepared>(&e)) {
    to_job(now, built->job, e, out);
  } else if (const auto* done = std::get_if<computed>(&e)) {
    to_job(now, done->job, e, out);
  } else if (const auto* asked = std::get_if<submitted>(&e)) {
    on_submission(asked->what, {}, out);
  } else if (!std::holds_alternative<heard>(e)) {
    to_all(now, e, out);
  }
}

instant jobs::deadline() const noexcept {
  instant next = never;
  for (const auto& [id, j] : jobs_) next = std::min(next, j.what->deadline());
  return next;
}

std::vector<progress> jobs::report() const {
  std::vector<progress> all;
  for (const auto& [id, j] : jobs_) all.push_back(j.what->report());
  return all;
}

void jobs::on(instant now, const received& e, outbox& out) {
  const bool client = view_.clients.contains(e.from);
  if (const auto* s = std::get_if<subscription>(&e.what))
    return on_subscription(s->job, e.from, out);
  if (const auto* s = std::get_if<state_request>(&e.what)) {
    if (const job* j = find(s->job)) return j->answer_state(e.from, s->layer, out);
    out.put(send{e.from, missing{s->job, s->layer, {errc::unavailable, "no such job here"}}});
    return;
  }
  if (client) {
    if (const auto* s = std::get_if<submission>(&e.what)) on_submission(s->what, e.from, out);
    return;
  }
  if (const auto* r = std::get_if<job_record>(&e.what)) {
    on_record(*r, e.from, out);
  } else if (std::holds_alternative<peer_record>(e.what)) {
    to_all(now, e, out);
  } else if (const auto about = subject_of(e.what)) {
    to_job(now, *about, e, out);
  }
}

void jobs::on_record(const job_record& what, peer_id from, outbox& out) {
  const job* known = find(what.job);
  if (known == nullptr) {
    if (make_room(out)) add(what, origin::heard_of, out);
  } else if (what.after_epoch > known->record().after_epoch) {
    replace(what, origin::heard_of, out);
  } else {
    known->answer_record(from, out);
  }
}

void jobs::on_submission(const job_record& asked, peer_id client, outbox& out) {
  job_record what = asked;
  what.after_epoch = 0;  // for members to say
  job* j = find(what.job);
  if (j != nullptr && begins_anew(*j, what)) {
    // Epochs may have been tried that are not known here: no more than a round has.
    what.after_epoch = j->last_epoch() + limits::proposals_max + 1;
    replace(what, origin::submitted_here, out);
  } else if (j != nullptr && j->record().spec.steps != what.spec.steps) {
    const error why{errc::unavailable, "job " + text(what.job) + " is under way with steps = " +
                                           std::to_string(j->record().spec.steps) +
                                           "; change them when it has finished"};
    if (client != peer_id{}) out.put(send{client, receipt{what.job, false, why}});
    return;
  }
  if (j == nullptr && !make_room(out)) {
    const error why{errc::exhausted, std::to_string(limits::jobs_max) + " jobs are under way here"};
    out.put(note{level::warning, "job " + text(what.job) + " is refused: " + why.what});
    if (client != peer_id{}) out.put(send{client, receipt{what.job, false, why}});
    return;
  }
  if (j == nullptr) add(what, origin::submitted_here, out);
  j = find(what.job);
  if (client != peer_id{}) j->answer_submission(client, out);
}

void jobs::on_subscription(job_id which, peer_id who, outbox& out) {
  std::size_t subscribers = 0;
  for (const auto& [id, j] : jobs_) subscribers += j.what->subscribers().size();
  job* j = find(which);
  if (j != nullptr && subscribers < limits::subscribers_max) return j->subscribe(who, out);
  const error why = j == nullptr ? error{errc::unavailable, "no such job here"}
                                 : error{errc::exhausted, "too many follow jobs through this peer"};
  out.put(send{who, receipt{which, false, why}});
}

void jobs::on_unlinked(peer_id who) {
  for (auto& [id, j] : jobs_) j.what->forget(who);
}

job* jobs::find(job_id which) {
  const auto at = jobs_.find(which);
  return at == jobs_.end() ? nullptr : at->second.what.get();
}

bool jobs::make_room(outbox& out) {
  if (jobs_.size() < limits::jobs_max) return true;
  auto oldest = jobs_.end();
  for (auto at = jobs_.begin(); at != jobs_.end(); ++at)
    if (at->second.what->is_over() &&
        (oldest == jobs_.end() || at->second.number < oldest->second.number))
      oldest = at;
  if (oldest == jobs_.end()) return false;
  out.put(note{level::warning, "job " + text(oldest->first) + " is forgotten to make room"});
  oldest->second.what->release(out);
  jobs_.erase(oldest);
  return true;
}

void jobs::add(const job_record& what, origin from, outbox& out) {
  jobs_[what.job] = {++count_, std::make_unique<job>(view_, what, from, out)};
}

void jobs::replace(const job_record& what, origin from, outbox& out) {
  job& old = *find(what.job);
  old.release(out);
  const std::set<peer_id> followers = old.subscribers();
  add(what, from, out);
  for (const peer_id who : followers) find(what.job)->subscribe(who, out);
}

void jobs::to_job(instant now, job_id which, const event& e, outbox& out) {
  job* j = find(which);
  if (j == nullptr) return;
  j->step(now, e, out);
  if (j->is_refused()) jobs_.erase(which);
}

void jobs::to_all(instant now, const event& e, outbox& out) {
  if (const auto* down = std::get_if<unlinked>(&e)) on_unlinked(down->who);
  const auto* up = std::get_if<linked>(&e);
  for (auto& [id, j] : jobs_) {
    if (up != nullptr && !up->client) j.what->introduce_to(up->who, out);
    j.what->step(now, e, out);
  }
}

}  // namespace perigee::planner
