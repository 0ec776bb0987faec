// A whole swarm in memory, whatever the plan and the order in which things arrive.

#include "planner/run/schedule.hpp"
#include "proto/stage_memory.hpp"
#include "tests/planner/world.hpp"

#include <boost/test/unit_test.hpp>

using namespace perigee;
using namespace perigee::planner;
using namespace perigee::planner::testing;

BOOST_AUTO_TEST_SUITE(swarm)

namespace {

struct arrangement {
  std::uint32_t stages = 1;
  std::uint32_t replicas = 1;
  std::uint32_t workers = 1;
  schedule_kind schedule = schedule_kind::one_f_one_b;
  bool uneven = false;
};

std::string text_of(const arrangement& a) {
  return std::to_string(a.stages) + " stages x " + std::to_string(a.replicas) + " replicas x " +
         std::to_string(a.workers) + " workers " + std::string(text(a.schedule)) +
         (a.uneven ? " uneven" : "");
}

wishes wishes_of(const arrangement& a, std::uint32_t slices) {
  wishes w;
  w.stages = a.stages;
  w.replicas = {a.replicas};
  w.schedule = a.schedule;
  if (a.uneven) {
    for (std::uint32_t s = 0; s < a.stages; ++s) {
      const bool front = s % 2 == 0;
      for (std::uint32_t r = 0; r < a.replicas; ++r)
        w.shares.push_back(r == (front ? 0 : a.replicas - 1) ? slices - a.replicas + 1 : 1);
    }
  }
  return w;
}

/// Each pass, fold, measure and apply of each participant ran once a step.
void check_each_task_once(world& w, const plan& p, const model_profile& model,
                          std::uint64_t steps) {
  for (const stage& s : p.stages) {
    for (const member& m : s.group) {
      const auto& runs = w.executors.at({m.peer.value, p.epoch})->runs;
      const auto own = micro_batches_of(model, {m.slice_first, m.slice_count});
      BOOST_TEST(runs.size() == steps * (2 * own + 3 * s.layer_count));
      for (const auto& [what, count] : runs) BOOST_TEST(count == 1U, what);
    }
  }
}

void check(const arrangement& a, std::uint64_t seed) {
  BOOST_TEST_CONTEXT(text_of(a) << " seed " << seed) {
    const model_profile model = chain(5, 11, 2);  // six slices, the last one short
    std::vector<peer_record> peers;
    for (std::uint64_t id = 1; id <= a.stages * a.replicas; ++id)
      peers.push_back(record_of(id, a.workers));
    world w(seed, model, peers);
    w.calibrate_and_link();
    const job_record job = job_of(1, 3, wishes_of(a, model.slice_count));
    w.ask(1, submission{job});
    for (const peer_record& p : peers) BOOST_TEST(w.run_to_end(p.peer.value, job.job));
    const auto end = *w.progress_of(1, job.job);
    BOOST_TEST(text(end.phase) == "finished", end.why.what);
    if (end.phase != job_phase::finished) return;
    BOOST_TEST(end.current.stages.size() == a.stages);
    BOOST_TEST(w.states(job.job) == alone(model, 3), boost::test_tools::per_element());
    check_each_task_once(w, end.current, model, 3);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_arrangement_gives_the_state_of_one_machine) {
  std::uint64_t seed = 1;
  for (std::uint32_t stages = 1; stages <= 4; ++stages)
    for (std::uint32_t replicas = 1; replicas <= 4; ++replicas)
      for (std::uint32_t workers = 1; workers <= 3; ++workers)
        for (const auto kind : {schedule_kind::gpipe, schedule_kind::one_f_one_b})
          for (const bool uneven : {false, true})
            check({stages, replicas, workers, kind, uneven}, seed++);
}

BOOST_AUTO_TEST_CASE(any_order_of_arrival_gives_the_state_of_one_machine) {
  for (std::uint64_t seed = 100; seed < 160; ++seed)
    check({3, 2, 2, schedule_kind::one_f_one_b, seed % 2 == 0}, seed);
}

BOOST_AUTO_TEST_CASE(two_runs_of_a_seed_are_the_same) {
  const auto trace_of = [] {
    world w(42, chain(4, 8, 2), {record_of(1, 2), record_of(2), record_of(3), record_of(4, 2)});
    w.traces = true;
    w.calibrate_and_link();
    wishes wanted;
    wanted.stages = 2;
    wanted.replicas = {2};
    w.ask(3, submission{job_of(1, 2, wanted)});
    w.run_to_end(1, {{0, 1}});
    return w.trace;
  };
  const auto once = trace_of();
  BOOST_TEST(once.size() > 100U);
  BOOST_TEST(once == trace_of(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_finished_job_tells_what_everybody_did) {
  world w(7, chain(4, 8, 2), {record_of(1), record_of(2)});
  w.calibrate_and_link();
  wishes wanted;
  wanted.stages = 2;
  w.ask(2, submission{job_of(1, 5, wanted)});
  w.ask(2, subscription{{{0, 1}}});
  w.run_to_end(2, {{0, 1}});
  const auto end = std::get<progress>(w.to_client[2].back());
  BOOST_TEST(text(end.phase) == "finished");
  BOOST_TEST(end.step == 5U);
  BOOST_TEST(end.last.states.size() == 4U);
  BOOST_TEST(end.work.size() == 2U);
  for (const peer_work& p : end.work) {
    BOOST_TEST(p.micro_batches == 40U);
    BOOST_TEST(p.sent.count == 40U * 1024);
    BOOST_TEST(p.received.count == 40U * 1024);
    BOOST_TEST(p.memory.count > 0U);
    BOOST_TEST(p.computing.count() > 0);
  }
}

BOOST_AUTO_TEST_CASE(a_peer_without_a_part_follows_the_job_for_its_clients) {
  world w(8, chain(4, 8, 2), {record_of(1), record_of(2), record_of(3)});
  w.calibrate_and_link();
  wishes wanted;
  wanted.stages = 2;
  wanted.replicas = {1};
  wanted.order = {{1}, {2}};
  w.ask(3, submission{job_of(1, 4, wanted)});
  w.ask(3, subscription{{{0, 1}}});
  w.run_to_end(3, {{0, 1}});
  const auto end = std::get<progress>(w.to_client[3].back());
  BOOST_TEST(text(end.phase) == "finished");
  BOOST_TEST(end.step == 4U);
  BOOST_TEST(place_of(end.current, {3}).stage == 2U);
}

BOOST_AUTO_TEST_SUITE_END()
