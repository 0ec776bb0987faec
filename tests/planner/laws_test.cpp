// The laws of planner/machine.hpp, held for each machine by the same test: any event in any state
// is survived, equal events give equal actions, and a deadline that is met moves on.

#include "planner/jobs.hpp"
#include "planner/peer.hpp"
#include "planner/swarm/liveness.hpp"
#include "tests/planner/world.hpp"

#include <boost/test/unit_test.hpp>

using namespace perigee;
using namespace perigee::planner;
using namespace perigee::planner::testing;

BOOST_AUTO_TEST_SUITE(laws)

namespace {

const model_profile model = chain(4, 4, 1);

proposal some_proposal(perigee::random& r) {
  proposal p;
  p.what.job = {{0, 1 + r.below(2)}};
  p.what.epoch = r.below(4);
  p.base_step = r.below(8) == 0 ? 1 : 0;
  const auto cut = static_cast<std::uint32_t>(r.below(5));  // may be malformed
  const auto share = static_cast<std::uint32_t>(1 + r.below(3));
  p.what.stages = {{0, cut, 4, {{{1 + r.below(2)}, 0, share, 1}, {{3}, share, 4 - share, 2}}},
                   {cut, 4 - cut, 4, {{{1 + r.below(2)}, 0, 4, 1}}}};
  if (r.below(3) == 0)
    p.what.stages = {{0, 4, 4, {{{1}, 0, share, 2}, {{2}, share, 4 - share, 1}}}};
  return p;
}

tensor_ref some_tensor(perigee::random& r) {
  return {static_cast<tensor_kind>(r.below(4)), r.below(3), static_cast<std::uint32_t>(r.below(6)),
          static_cast<std::uint32_t>(r.below(6))};
}

message some_negotiation(perigee::random& r, job_id job) {
  const proposal p = some_proposal(r);
  switch (r.below(6)) {
    case 0:
      return p;
    case 1:
      return commitment{p};
    case 2:
      return acceptance{job, r.below(4), r.below(2) == 0 ? digest_of(p.what) : r.below(9)};
    case 3:
      return refusal{
          job,          r.below(4),  digest_of(p.what), {static_cast<errc>(r.below(9)), "no"},
          {r.below(3)}, {r.below(2)}};
    case 4:
      return halt{job, r.below(4), r.below(4), {errc::io, "stop"}};
    default:
      return job_record{job_of(job.value.low, 3, {})};
  }
}

message some_message(perigee::random& r) {
  const job_id job{{0, 1 + r.below(2)}};
  peer_record record = record_of(1 + r.below(4));
  record.version = r.below(5);
  record.rate = {r.below(3), 1, 1, 1};
  switch (r.below(14)) {
    case 0:
      return record;
    case 1:
      return ping{r.below(9)};
    case 2:
      return pong{r.below(9)};
    case 3:
      return submission{job_of(job.value.low, r.below(4), {})};
    case 4:
      return subscription{job};
    case 5:
      return state_request{job, static_cast<std::uint32_t>(r.below(6))};
    case 6:
      return status_request{};
    case 7:
      return measurement{job,
                         r.below(4),
                         r.below(3),
                         static_cast<std::uint32_t>(r.below(3)),
                         r.below(9) != 0,
                         {static_cast<std::uint32_t>(r.below(9)), 1},
                         {1, 2},
                         0,
                         0};
    case 8:
      return state_report{job, r.below(4), r.below(4), static_cast<std::uint32_t>(r.below(4)),
                          std::vector<digest128>(r.below(5))};
    case 9:
      return account{job, {{1 + r.below(4)}, r.below(20), {}, {}, {}, {}, {}}};
    case 10:
      return farewell{};
    default:
      return some_negotiation(r, job);
  }
}

event some_event(perigee::random& r) {
  const peer_id who{r.below(2) == 0 ? 2 + r.below(2) : r.below(5)};
  const job_id job{{0, 1 + r.below(2)}};
  switch (r.below(24)) {
    case 0:
    case 1:
    case 2:
      return linked{who, r.below(5) == 0};
    case 3:
      return unlinked{who, {errc::io, "gone"}};
    case 4:
      return heard{who};
    case 5:
      return transmitted{who, job, some_tensor(r), {8}};
    case 6:
      return profiled{job, r.below(6) == 0 ? result<model_profile>(error{errc::io, "no data"})
                                           : result<model_profile>(model)};
    case 7:
    case 8:
      return prepared{job, r.below(4),
                      r.below(8) == 0 ? result<void>(error{errc::io, "no"}) : result<void>()};
    case 9:
      return computed{job,
                      r.below(4),
                      static_cast<std::uint32_t>(r.below(3)),
                      {static_cast<task_kind>(r.below(5)),
                       r.below(3),
                       static_cast<std::uint32_t>(r.below(5)),
                       {}},
                      {}};
    case 10:
      return calibrated{{r.below(2), 1, 1, 1}, 1};
    case 11:
      return submitted{job_of(job.value.low, 3, {})};
    case 12:
      return due{};
    case 13:
    case 14:
      return arrived{who, job, some_tensor(r), {8}};
    default:
      return received{who, some_message(r)};
  }
}

/// A machine, and answers to what it asked last: so that random events get deep into its states.
template <class Machine>
struct run {
  Machine machine;
  std::vector<event> answers{};
  std::string lines{};

  void step(instant now, const event& e) {
    outbox out;
    machine.step(now, e, out);
    for (const action& a : out.drained()) {
      lines += text(a) + '\n';
      if (const auto* c = std::get_if<compute>(&a))
        answers.push_back(computed{c->job, c->epoch, c->lane, c->what, {}});
      if (const auto* p = std::get_if<prepare>(&a))
        answers.push_back(prepared{p->what.what.job, p->what.what.epoch, {}});
      if (const auto* p = std::get_if<profile>(&a)) answers.push_back(profiled{p->what.job, model});
      const auto* s = std::get_if<send>(&a);
      if (s == nullptr) continue;
      if (const auto* p = std::get_if<proposal>(&s->what))
        answers.push_back(
            received{s->to, acceptance{p->what.job, p->what.epoch, digest_of(p->what)}});
      if (const auto* p = std::get_if<acceptance>(&s->what); p != nullptr && last)
        answers.push_back(received{s->to, commitment{*last}});
    }
    if (const auto* in = std::get_if<received>(&e))
      if (const auto* p = std::get_if<proposal>(&in->what)) last = *p;
  }
  std::optional<proposal> last{};
};

template <class Machine>
std::string trace_of(std::uint64_t seed, Machine machine) {
  perigee::random r(seed, purpose::simulation, 1);
  run<Machine> it{std::move(machine)};
  instant now{};
  for (int i = 0; i < 300; ++i) {
    now += std::chrono::microseconds(r.below(2'000'000));
    if (!it.answers.empty() && r.below(2) == 0) {
      const std::size_t at = r.below(it.answers.size());
      const event answer = it.answers[at];
      it.answers.erase(it.answers.begin() + static_cast<std::ptrdiff_t>(at));
      it.step(now, answer);
    } else {
      it.step(now, some_event(r));
    }
    const instant deadline = it.machine.deadline();
    if (deadline == never) continue;
    now = std::max(now, deadline);
    it.step(now, due{});
    BOOST_REQUIRE(it.machine.deadline() > now);
  }
  return it.lines;
}

template <class Maker>
void hold(const Maker& make, std::uint64_t seeds) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      const std::string once = trace_of(seed, make());
      BOOST_REQUIRE(once == trace_of(seed, make()));
    }
  }
}

/// The parts need a view and a job that outlive them.
template <class Part>
struct with_view {
  std::unique_ptr<swarm_view> view;
  std::unique_ptr<job_record> job;
  std::unique_ptr<result<model_profile>> known;
  std::unique_ptr<Part> part;
  void step(instant now, const event& e, outbox& out) { part->step(now, e, out); }
  [[nodiscard]] instant deadline() const { return part->deadline(); }
};

template <class Part>
with_view<Part> bare() {
  with_view<Part> w;
  w.view = std::make_unique<swarm_view>();
  w.view->self = record_of(1, 2);
  w.view->self.rate = {1'000'000, 1, 1, 1'000'000};
  for (const std::uint64_t id : {2, 3}) {
    w.view->members[{id}] = {record_of(id, 2), true, true};
    w.view->members[{id}].record.rate = w.view->self.rate;
  }
  w.job = std::make_unique<job_record>(job_of(1, 3, {}));
  w.known = std::make_unique<result<model_profile>>(model);
  return w;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_whole_peer_holds_them) {
  hold([] { return peer(peer_config{record_of(1, 2), {record_of(2, 2), record_of(3, 2)}}); }, 400);
}

BOOST_AUTO_TEST_CASE(liveness_holds_them) {
  hold([] { return planner::liveness(); }, 50);
}

BOOST_AUTO_TEST_CASE(the_agreement_holds_them) {
  hold(
      [] {
        auto w = bare<planner::agreement>();
        w.part = std::make_unique<planner::agreement>(*w.view, *w.job);
        outbox out;
        w.part->note_profile({}, *w.known, out);
        return w;
      },
      300);
}

BOOST_AUTO_TEST_CASE(the_pipeline_holds_them) {
  hold(
      [] {
        auto w = bare<planner::pipeline>();
        plan p;
        p.job = w.job->job;
        p.stages = {{0, 2, 4, {{{1}, 0, 3, 2}, {{2}, 3, 1, 1}}}, {2, 2, 4, {{{3}, 0, 4, 1}}}};
        w.part = std::make_unique<planner::pipeline>(
            pipeline_config{{p, {0, 0}, model}, 0, 3, {1}, {2}});
        outbox out;
        w.part->begin({}, out);
        return w;
      },
      300);
}

BOOST_AUTO_TEST_CASE(all_jobs_of_a_peer_hold_them) {
  hold(
      [] {
        auto w = bare<planner::jobs>();
        w.view->clients.insert({4});
        w.part = std::make_unique<planner::jobs>(*w.view);
        return w;
      },
      300);
}

BOOST_AUTO_TEST_SUITE_END()
