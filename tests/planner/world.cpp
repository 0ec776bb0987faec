#include "tests/planner/world.hpp"

#include "proto/base/check.hpp"

#include <algorithm>

namespace perigee::planner::testing {

namespace {

constexpr std::uint64_t client_base = 1000;

}  // namespace

model_profile chain(std::uint32_t layers, std::uint32_t micro_batches, std::uint32_t slice_size) {
  model_profile m;
  for (std::uint32_t l = 0; l < layers; ++l) {
    layer_profile layer;
    layer.name = "blocks." + std::to_string(l);
    layer.forward = {1'000'000, 0, 0, 1000};
    layer.backward = {2'000'000, 0, 0, 2000};
    layer.kernel_count = 4;
    layer.parameters = {4096};
    layer.state = {8192};
    layer.gradient = {4096};
    layer.kept = {2048};
    layer.input = {1024};
    layer.output = l + 1 == layers ? bytes{} : bytes{1024};
    layer.parameter_count = 2;
    m.layers.push_back(std::move(layer));
  }
  m.micro_batch_count = micro_batches;
  m.slice_size = slice_size;
  m.slice_count = (micro_batches + slice_size - 1) / slice_size;
  m.micro_batch_samples = 2;
  return m;
}

peer_record record_of(std::uint64_t id, std::uint32_t workers, bytes offer) {
  peer_record r;
  r.peer = {id};
  r.name = "p" + std::to_string(id);
  r.workers = workers;
  r.memory_offer = offer;
  return r;
}

job_record job_of(std::uint64_t number, std::uint64_t steps, const wishes& wanted) {
  job_record r;
  r.job = {{0, number}};
  r.spec.steps = steps;
  r.wanted = wanted;
  return r;
}

world::world(std::uint64_t seed, model_profile model, std::vector<peer_record> peers)
    : model_(std::move(model)), draw_(seed, purpose::simulation, 0) {
  for (const peer_record& self : peers) {
    peer_config config;
    config.self = self;
    for (const peer_record& other : peers)
      if (other.peer != self.peer) config.members.push_back(other);
    nodes_.emplace(self.peer.value, node{peer(std::move(config))});
  }
}

void world::calibrate_and_link() {
  for (auto& [id, n] : nodes_) give(id, calibrated{{1'000'000'000, 1, 1, 1'000'000'000}, 5});
  for (auto& [a, n] : nodes_)
    for (auto& [b, m] : nodes_)
      if (a < b) link(a, b);
}

void world::link(std::uint64_t a, std::uint64_t b) {
  links_.insert({std::min(a, b), std::max(a, b)});
  give(a, linked{{b}});
  give(b, linked{{a}});
}

void world::cut(std::uint64_t a, std::uint64_t b, const error& why) {
  if (links_.erase({std::min(a, b), std::max(a, b)}) == 0) return;
  std::erase_if(under_way_, [&](const under_way& u) {
    const std::uint64_t other = u.to == a ? b : a;
    if (u.to != a && u.to != b) return false;
    if (const auto* in = std::get_if<received>(&u.what)) return in->from.value == other;
    if (const auto* t = std::get_if<arrived>(&u.what)) return t->from.value == other;
    if (const auto* t = std::get_if<transmitted>(&u.what)) return t->to.value == other;
    return false;
  });
  give(a, unlinked{{b}, why});
  give(b, unlinked{{a}, why});
}

void world::kill(std::uint64_t who) {
  nodes_.at(who).alive = false;
  for (auto& [other, n] : nodes_) cut(who, other, {errc::io, "connection reset"});
}

void world::mute_links(std::uint64_t who) { nodes_.at(who).alive = false; }

void world::give(std::uint64_t to, const event& e) { step(to, e); }

void world::ask(std::uint64_t at, const message& what) {
  if (!to_client.contains(at)) {
    to_client[at];
    give(at, linked{{client_base + at}, true});
  }
  give(at, received{{client_base + at}, what});
}

bool world::run(const std::function<bool()>& done, std::size_t events_max) {
  for (std::size_t i = 0; i < events_max; ++i) {
    if (done()) return true;
    if (deliver_one()) continue;
    const instant next = next_deadline();
    if (next == never) return done();
    now = std::max(now, next);
    for (auto& [id, n] : nodes_)
      if (n.alive && n.machine.deadline() <= now) step(id, due{});
  }
  return done();
}

void world::run_until(instant at) {
  run([&] { return under_way_.empty() && next_deadline() > at; });
  now = std::max(now, at);
}

bool world::run_to_end(std::uint64_t watched, job_id which) {
  return run([&] {
    const auto p = progress_of(watched, which);
    return p && (p->phase == job_phase::finished || p->phase == job_phase::halted);
  });
}

std::optional<progress> world::progress_of(std::uint64_t who, job_id which) const {
  const status_report all = nodes_.at(who).machine.report();
  for (const progress& p : all.jobs)
    if (p.job == which) return p;
  return std::nullopt;
}

std::vector<std::uint64_t> world::states(job_id which) {
  std::vector<std::uint64_t> all;
  for (const auto& [id, n] : nodes_) {
    const auto p = progress_of(id, which);
    if (!p || p->current.stages.empty()) continue;
    for (const stage& s : p->current.stages)
      for (std::uint32_t l = s.layer_first; l < s.layer_first + s.layer_count; ++l)
        all.push_back(executor_of(s.group[0].peer.value, p->current.epoch)
                          ->get({tensor_kind::state, p->step, l, 0}));
    return all;
  }
  return all;
}

void world::step(std::uint64_t who, const event& e) {
  node& n = nodes_.at(who);
  if (!n.alive) return;
  outbox out;
  n.machine.step(now, e, out);
  for (const action& a : out.drained()) {
    if (traces) trace.push_back(text(peer_id{who}) + ' ' + text(a));
    act(who, a);
  }
}

void world::act(std::uint64_t who, const action& a) {
  if (const auto* s = std::get_if<send>(&a)) {
    if (s->to.value >= client_base) {
      to_client[s->to.value - client_base].push_back(s->what);
    } else if (nodes_.at(s->to.value).alive) {
      under_way_.push_back({s->to.value, who, received{{who}, s->what}, {}});
    }
  } else if (const auto* t = std::get_if<transmit>(&a)) {
    act_transmit(who, *t);
  } else if (const auto* p = std::get_if<profile>(&a)) {
    const auto bad_data = profile_errors.find(who);
    result<model_profile> known = bad_data == profile_errors.end()
                                      ? result<model_profile>(model_)
                                      : result<model_profile>(bad_data->second);
    under_way_.push_back({who, 0, profiled{p->what.job, std::move(known)}, {}});
  } else if (const auto* b = std::get_if<prepare>(&a)) {
    act_prepare(who, *b);
  } else if (const auto* c = std::get_if<compute>(&a)) {
    act_compute(who, *c);
  } else if (const auto* d = std::get_if<discard>(&a)) {
    executors.erase({who, d->epoch});
  } else if (const auto* line = std::get_if<note>(&a)) {
    notes.push_back(text(peer_id{who}) + ' ' + line->line);
  }
}

void world::act_transmit(std::uint64_t who, const transmit& t) {
  const auto done = transmitted{t.to, t.job, t.what, t.size, t.plan_digest};
  if (t.to.value >= client_base) {
    under_way_.push_back({who, 0, done, {}});
    return;
  }
  const auto p = progress_of(who, t.job);
  const std::uint64_t epoch = p->current.epoch;
  const std::uint64_t value = executor_of(who, epoch)->get(t.what);
  under_way_.push_back({who, 0, done, {}});
  under_way_.push_back({t.to.value, 0, arrived{{who}, t.job, t.what, t.size, t.plan_digest},
                        [this, to = t.to.value, epoch, what = t.what, value] {
                          if (auto* at = executor_of(to, epoch)) at->put(what, value);
                        }});
}

void world::act_prepare(std::uint64_t who, const prepare& p) {
  const plan& made = p.what.what;
  if (mute.contains(who)) return;
  if (const auto bad_part = prepare_errors.find(who); bad_part != prepare_errors.end()) {
    under_way_.push_back({who, 0, prepared{made.job, made.epoch, bad_part->second}, {}});
    return;
  }
  executors[{who, made.epoch}] = std::make_unique<value_executor>(made, peer_id{who}, model_);
  under_way_.push_back({who, 0, prepared{made.job, made.epoch, {}}, {}});
}

void world::act_compute(std::uint64_t who, const compute& c) {
  if (frozen.contains(who)) return;
  value_executor* at = executor_of(who, c.epoch);
  CHECK(at != nullptr);
  outcome how = at->run(c.what, bad);
  const auto wrong = wrong_from.find(who);
  if (c.what.kind == task_kind::apply && wrong != wrong_from.end() && c.what.step >= wrong->second)
    how.values[0] ^= 1;
  under_way_.push_back({who, 0, computed{c.job, c.epoch, c.lane, c.what, std::move(how)}, {}});
}

bool world::deliver_one() {
  if (under_way_.empty()) return false;
  std::size_t at = draw_.below(under_way_.size());
  // Of one link the oldest message goes first.
  for (std::size_t i = 0; under_way_[at].link != 0 && i < at; ++i)
    if (under_way_[i].link == under_way_[at].link && under_way_[i].to == under_way_[at].to) at = i;
  under_way next = std::move(under_way_[at]);
  under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(at));
  now += 10us;
  if (next.before) next.before();
  step(next.to, next.what);
  return true;
}

instant world::next_deadline() const {
  instant next = never;
  for (const auto& [id, n] : nodes_)
    if (n.alive) next = std::min(next, n.machine.deadline());
  return next;
}

value_executor* world::executor_of(std::uint64_t who, std::uint64_t epoch) {
  const auto at = executors.find({who, epoch});
  return at == executors.end() ? nullptr : at->second.get();
}

}  // namespace perigee::planner::testing
