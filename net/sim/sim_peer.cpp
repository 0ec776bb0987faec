#include "net/sim/sim_peer.hpp"

#include "planner/plan/cost_model.hpp"
#include "proto/base/check.hpp"
#include "proto/stage_memory.hpp"

#include <algorithm>
#include <cstdio>

namespace perigee::net {

namespace {

using namespace std::chrono_literals;

constexpr duration profile_time = 5ms;
constexpr duration prepare_time = 20ms;

}  // namespace

void surroundings::violated(const std::string& what) const {
  std::fprintf(stderr, "simulation with seed %llu: %s\n", static_cast<unsigned long long>(seed),
               what.c_str());
  check_failed(__FILE__, __LINE__, "the rules of a simulation hold");
}

sim_peer::sim_peer(surroundings& around, peer_record self, speed actual,
                   std::vector<peer_record> members)
    : around_(around),
      self_(std::move(self)),
      actual_(actual),
      position_(around.network.add(self_.peer, *this)),
      machine_([&] {
        planner::peer_config config{self_, std::move(members)};
        config.self.rate = {};
        config.self.fingerprint = 0;
        return config;
      }()) {}

void sim_peer::calibrate(instant at) {
  later(at, planner::calibrated{self_.rate, self_.fingerprint});
}

void sim_peer::later(instant at, planner::event e) {
  std::uint64_t index = answers_.size();
  if (free_answers_.empty()) {
    answers_.push_back(std::move(e));
  } else {
    index = free_answers_.back();
    free_answers_.pop_back();
    answers_[index] = std::move(e);
  }
  around_.queue.push(at, world_kind::answer, position_, index);
}

void sim_peer::handle(const timed& what) {
  if (what.kind == world_kind::wake) {
    if (wake_at_ != what.at) return;  // an earlier one was set meanwhile
    wake_at_ = never;
    if (machine_.deadline() <= what.at) return step(planner::due{});
    return arm();
  }
  planner::event e = std::move(answers_[what.what]);
  free_answers_.push_back(what.what);
  if (const auto* done = std::get_if<planner::computed>(&e)) {
    const auto rules = around_.rules.find({done->job, done->epoch});
    if (rules != around_.rules.end()) {
      if (auto wrong = rules->second.note_computed(self_.peer, done->lane, done->what)) {
        around_.violated(*wrong);
      }
    }
    for (const std::uint64_t value : done->how.values) around_.events.add(value);
  }
  step(e);
}

void sim_peer::step(const planner::event& e) {
  if (left_) return;
  machine_.step(around_.queue.now(), e, out_);
  for (planner::action& a : out_.drained()) act(a);
  arm();
}

void sim_peer::arm() {
  const instant deadline = machine_.deadline();
  if (deadline >= wake_at_) return;
  wake_at_ = std::max(deadline, around_.queue.now());
  around_.queue.push(wake_at_, world_kind::wake, position_, 0);
}

// ---- what the network tells ---------------------------------------------------------------------

void sim_peer::on_linked(peer_id who, link_role role) {
  step(planner::linked{who, role == link_role::client});
}

void sim_peer::on_unlinked(peer_id who, const error& why) { step(planner::unlinked{who, why}); }

void sim_peer::on_heard(peer_id who) { step(planner::heard{who}); }

void sim_peer::on_message(peer_id from, message what) {
  around_.events.add(what.index(), from.value);
  step(planner::received{from, std::move(what)});
}

std::span<std::byte> sim_peer::room_for(peer_id, const tensor_label& label) {
  part* p = part_of(label.job, label.plan_digest);
  return p == nullptr ? std::span<std::byte>{} : p->runs->room(label.what);
}

void sim_peer::on_arrived(peer_id from, const tensor_label& label) {
  around_.events.add(label.what.step, label.what.layer, label.what.index);
  if (part* p = part_of(label.job, label.plan_digest)) p->runs->arrived(label.what);
  step(planner::arrived{from, label.job, label.what, label.size, label.plan_digest});
}

void sim_peer::on_transmitted(peer_id to, const tensor_label& label, bool delivered) {
  let_go(label.job, label.plan_digest, label.what);
  if (!delivered) return;
  step(planner::transmitted{to, label.job, label.what, label.size, label.plan_digest});
}

void sim_peer::let_go(job_id which, std::uint64_t plan_digest, const tensor_ref& what) {
  const auto at = std::find_if(parts_.begin(), parts_.end(), [&](const part& p) {
    return p.job == which && p.digest == plan_digest && p.leaving > 0;
  });
  CHECK(at != parts_.end());
  at->runs->release(what);
  if (--at->leaving == 0 && at->discarded) parts_.erase(at);
}

// ---- what the machine wants ---------------------------------------------------------------------

void sim_peer::act(planner::action& a) {
  std::visit([this](auto& what) { act(what); }, a);
}

void sim_peer::act(planner::send& a) {
  // A link that broke meanwhile is told to the machine as it happens.
  (void)around_.network.transport_of(position_).send(a.to, a.what);
}

void sim_peer::act(const planner::transmit& a) {
  part* p = part_of(a.job, a.plan_digest);
  if (p == nullptr) return;
  const std::span<const std::byte> data = p->runs->hold(a.what);
  if (data.empty()) around_.violated(text(self_.peer) + " has no " + text(a.what) + " to send");
  ++p->leaving;
  const tensor_label label{a.job, a.plan_digest, a.what, a.size};
  if (!around_.network.transport_of(position_).transmit(a.to, label, data)) {
    let_go(a.job, a.plan_digest, a.what);
  }
}

void sim_peer::act(const planner::profile& a) {
  jobs_[a.what.job] = a.what;
  result<model_profile> profile = around_.profiles(a.what.spec);
  if (profile) models_[a.what.job] = *profile;
  later(around_.queue.now() + profile_time, planner::profiled{a.what.job, std::move(profile)});
}

void sim_peer::act(const planner::prepare& a) {
  const proposal& what = a.what;
  later(around_.queue.now() + prepare_time,
        planner::prepared{what.what.job, what.what.epoch, build(what)});
}

result<void> sim_peer::build(const proposal& what) {
  const plan& p = what.what;
  const place where = place_of(p, self_.peer);
  CHECK(where.stage < p.stages.size());
  const model_profile& model = models_.at(p.job);
  const bytes needed = stage_memory(model, p, where);
  if (needed > self_.memory_offer) {
    around_.violated(text(self_.peer) + " offers " + text(self_.memory_offer) + " and prepares " +
                     text(needed));
  }
  auto runs = around_.executors(jobs_.at(p.job).spec, p, self_.peer);
  if (!runs) return runs.why();
  const auto [rules, fresh] = around_.rules.try_emplace(std::pair{p.job, p.epoch}, model, p);
  if (fresh) {
    if (auto wrong = rules->second.check_plan()) around_.violated(*wrong);
  }
  const stage& own = p.stages[where.stage];
  const planner::lane_time time =
      planner::layers_time(model, own.layer_first, own.layer_count, actual_);
  parts_.push_back({.job = p.job,
                    .epoch = p.epoch,
                    .digest = digest_of(p),
                    .runs = std::move(*runs),
                    .rules = &rules->second,
                    .model = &model,
                    .forward = time.forward,
                    .backward = time.backward});
  return {};
}

void sim_peer::act(const planner::compute& a) {
  const auto at = std::find_if(parts_.begin(), parts_.end(),
                               [&](const part& p) { return p.job == a.job && p.epoch == a.epoch; });
  CHECK(at != parts_.end());
  if (auto wrong = at->rules->note_given(self_.peer, a.lane, a.what)) around_.violated(*wrong);
  outcome how = at->runs->run(a.lane, a.what);
  how.elapsed = time_of(*at, a.what);
  const instant begin = around_.queue.now();
  around_.events.add(static_cast<std::uint64_t>(a.what.kind), a.what.step, a.what.index, a.lane);
  around_.events.add(
      {self_.peer, a.lane, a.what.kind, a.what.index, a.what.step, begin, begin + how.elapsed});
  later(begin + how.elapsed, planner::computed{a.job, a.epoch, a.lane, a.what, std::move(how)});
}

void sim_peer::act(const planner::discard& a) {
  for (part& p : parts_) p.discarded |= p.job == a.job && p.epoch == a.epoch;
  std::erase_if(parts_, [](const part& p) { return p.discarded && p.leaving == 0; });
}

void sim_peer::act(const planner::disconnect& a) {
  around_.network.transport_of(position_).close(a.who);
}

void sim_peer::act(const planner::announce& a) {
  if (around_.on_progress) around_.on_progress(self_.peer, a.what);
}

void sim_peer::act(const planner::note& a) {
  if (around_.events.records()) around_.events.add({around_.queue.now(), self_.peer, a.line});
}

void sim_peer::act(const planner::leave&) { left_ = true; }

duration sim_peer::time_of(const part& p, const task& what) {
  duration time{};
  switch (what.kind) {
    case task_kind::forward:
      time = p.forward;
      break;
    case task_kind::backward:
      time = p.backward;
      break;
    case task_kind::fold:
    case task_kind::measure:
    case task_kind::apply:
      // The cost model's update is the three of them together.
      time = planner::update_time(p.model->layers[what.index], actual_) / 3;
  }
  std::uint64_t extra = 0;
  if (around_.jitter_permille > 0) {
    extra = hash_of(around_.seed, self_.peer.value, drawn_++) % (around_.jitter_permille + 1);
  }
  const auto permille = static_cast<duration::rep>(slowness_permille_);
  return time * permille / 1000 * static_cast<duration::rep>(1000 + extra) / 1000 + 1ns;
}

sim_peer::part* sim_peer::part_of(job_id which, std::uint64_t plan_digest) {
  const auto at = std::find_if(parts_.begin(), parts_.end(), [&](const part& p) {
    return p.job == which && p.digest == plan_digest && !p.discarded;
  });
  return at == parts_.end() ? nullptr : &*at;
}

}  // namespace perigee::net
