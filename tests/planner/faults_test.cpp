// What befalls a job before its end: a loss begins it again with the same answer, anything else
// halts it everywhere with the reason, at a whole number of steps.

#include "planner/limits.hpp"
#include "proto/stage_memory.hpp"
#include "tests/planner/world.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace perigee;
using namespace perigee::planner;
using namespace perigee::planner::testing;

BOOST_AUTO_TEST_SUITE(faults)

namespace {

constexpr job_id job{{0, 1}};

wishes stages(std::uint32_t count, std::uint32_t replicas = 1) {
  wishes w;
  w.stages = count;
  w.replicas = {replicas};
  return w;
}

/// Three peers with two layers each.
world three(std::uint64_t seed, std::uint64_t steps = 20) {
  world w(seed, chain(6, 8, 2), {record_of(1), record_of(2), record_of(3)});
  w.calibrate_and_link();
  w.ask(1, submission{job_of(1, steps, stages(3))});
  w.ask(1, subscription{job});
  return w;
}

bool reaches(world& w, std::uint64_t step) {
  return w.run([&] { return w.progress_of(1, job)->step >= step; });
}

/// Returns what a peer needs for one of two stages: not enough for both.
bytes stage_memory_of_half() {
  plan p;
  p.stages = {{0, 3, 2, {{{1}, 0, 4, 1}}}, {3, 3, 2, {{{2}, 0, 4, 1}}}};
  const model_profile m = chain(6, 8, 2);
  return std::max(stage_memory(m, p, {0, 0}), stage_memory(m, p, {1, 0}));
}

bool has_note(const world& w, const std::string& part) {
  return std::any_of(w.notes.begin(), w.notes.end(),
                     [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

/// Returns the phase, step and reason at a peer.
std::string end_at(world& w, std::uint64_t peer) {
  w.run_to_end(peer, job);
  const auto p = *w.progress_of(peer, job);
  return std::string(text(p.phase)) + " after " + std::to_string(p.step) + ": " + p.why.what;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_loss_that_is_not_finite_stops_all_at_the_last_finite_step) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    world w = three(seed);
    w.bad = fault{11, 3, 1};
    for (const std::uint64_t peer : {1, 2, 3})
      BOOST_TEST(end_at(w, peer) ==
                 "halted after 11: loss is not finite at step 12, micro-batch 3, layer blocks.1");
    BOOST_TEST(w.states(job) == alone(chain(6, 8, 2), 11), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_gradient_that_is_not_finite_is_applied_nowhere) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    world w = three(seed);
    w.bad = fault{4, 8, 5};
    for (const std::uint64_t peer : {1, 2, 3})
      BOOST_TEST(end_at(w, peer) ==
                 "halted after 4: gradient is not finite at step 5, layer blocks.5");
    BOOST_TEST(w.states(job) == alone(chain(6, 8, 2), 4), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_lost_participant_is_named_and_the_answer_is_the_same) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    world w = three(seed);
    BOOST_REQUIRE(reaches(w, 1 + seed % 20));
    w.kill(2 + seed % 2);
    BOOST_TEST_CONTEXT("seed " << seed) {
      BOOST_TEST(end_at(w, 1) == "finished after 20: ");
      BOOST_TEST(w.states(job) == alone(chain(6, 8, 2), 20), boost::test_tools::per_element());
      if (w.progress_of(1, job)->current.epoch == 1) continue;  // it had done its part
      const std::string dead = text(peer_id{2 + seed % 2});
      BOOST_TEST(has_note(w, dead + " was lost (connection reset) at step "));
    }
  }
}

BOOST_AUTO_TEST_CASE(whoever_is_lost_at_any_moment_the_answer_is_the_same) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    world w(seed, chain(6, 8, 2), {record_of(1), record_of(2), record_of(3), record_of(4)});
    w.calibrate_and_link();
    w.ask(1, submission{job_of(1, 6, stages(seed % 2 == 0 ? 4 : 2, seed % 2 == 0 ? 1 : 2))});
    std::size_t events = 0;
    const std::size_t kill_at = 10 * seed;
    w.run([&] { return ++events > kill_at && w.progress_of(1, job)->current.epoch > 0; });
    const bool begun = text(w.progress_of(1, job)->phase) == "running";
    w.kill(2 + seed % 3);
    if (!begun) continue;
    BOOST_TEST_CONTEXT("seed " << seed) {
      for (std::uint64_t peer = 1; peer <= 4; ++peer)
        if (peer != 2 + seed % 3) BOOST_TEST(end_at(w, peer) == "finished after 6: ");
      BOOST_TEST(w.states(job) == alone(chain(6, 8, 2), 6), boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(one_after_the_other_may_be_lost_down_to_the_last) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    world w = three(seed);
    BOOST_REQUIRE(reaches(w, 3));
    w.kill(3);
    BOOST_REQUIRE(w.run([&] { return w.progress_of(1, job)->current.epoch > 1; }));
    BOOST_REQUIRE(reaches(w, 3));
    w.kill(2);
    BOOST_TEST(end_at(w, 1) == "finished after 20: ");
    BOOST_TEST(w.states(job) == alone(chain(6, 8, 2), 20), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(the_lost_work_is_told_in_micro_batches) {
  world w = three(3);
  BOOST_REQUIRE(reaches(w, 5));
  w.kill(3);
  w.run_to_end(1, job);
  BOOST_TEST(has_note(w, "p3 was lost (connection reset) at step "));
  BOOST_TEST(has_note(w, " micro-batches of "));
  BOOST_TEST(has_note(w, " steps here, redone"));
}

BOOST_AUTO_TEST_CASE(a_silent_participant_is_lost_too) {
  world w = three(4);
  BOOST_REQUIRE(reaches(w, 3));
  w.mute_links(3);
  BOOST_TEST(end_at(w, 1) == "finished after 20: ");
  BOOST_TEST(has_note(w, "p3 was lost (silent for 6.0 s)"));
}

BOOST_AUTO_TEST_CASE(peers_that_cannot_speak_to_one_another_end_with_the_same_states) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    world w = three(seed);
    BOOST_REQUIRE(reaches(w, 3));
    w.cut(1, 3, {errc::io, "connection reset"});
    for (const std::uint64_t peer : {1, 2, 3})
      BOOST_TEST(end_at(w, peer).find("finished after 20: ") == 0U, end_at(w, peer));
    BOOST_TEST(w.states(job) == alone(chain(6, 8, 2), 20), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(what_fits_nowhere_after_a_loss_waits_for_somebody_to_come) {
  const bytes half{stage_memory_of_half()};
  world w(12, chain(6, 8, 2), {record_of(1, 1, half), record_of(2, 1, half)});
  w.calibrate_and_link();
  w.ask(1, submission{job_of(1, 20, stages(2))});
  BOOST_REQUIRE(reaches(w, 3));
  w.cut(1, 2, {errc::io, "connection reset"});
  w.run_until(w.now + 20s);
  const auto waits = *w.progress_of(1, job);
  BOOST_TEST(text(waits.phase) == "waiting");
  BOOST_TEST(
      waits.why.what.starts_with("waiting for a peer to come: no plan fits: p1 would need "));
  w.link(1, 2);
  BOOST_TEST(end_at(w, 1) == "finished after 20: ");
  BOOST_TEST(w.states(job) == alone(chain(6, 8, 2), 20), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(replicas_whose_states_differ_halt_the_job) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    world w(seed, chain(4, 8, 2), {record_of(1), record_of(2), record_of(3), record_of(4)});
    w.calibrate_and_link();
    w.wrong_from[2] = 6;
    w.ask(1, submission{job_of(1, 20, stages(2, 2))});
    for (const std::uint64_t peer : {1, 2, 3, 4}) {
      w.run_to_end(peer, job);
      const auto end = *w.progress_of(peer, job);
      BOOST_TEST(text(end.phase) == "halted");
      BOOST_TEST(end.why.what == "layer 0 differs between p1 and p2 after step 7");
    }
  }
}

BOOST_AUTO_TEST_CASE(a_lane_that_waits_says_for_what) {
  world w = three(5);
  BOOST_REQUIRE(reaches(w, 2));
  w.frozen.insert(1);
  w.run_until(w.now + 12s);
  BOOST_TEST(has_note(w, "p2 lane 0 waits 5.0 s for "));
  BOOST_TEST(has_note(w, " from p1"));
  BOOST_TEST(has_note(w, "waits 10.0 s for "));
  BOOST_TEST(text(w.progress_of(1, job)->phase) == "running");
}

BOOST_AUTO_TEST_CASE(remarks_reach_those_who_follow_the_job) {
  world w = three(6);
  BOOST_REQUIRE(reaches(w, 2));
  w.frozen.insert(3);
  w.run_until(w.now + 6s);
  const auto& heard = w.to_client[1];
  BOOST_TEST(std::any_of(heard.begin(), heard.end(), [](const message& m) {
    const auto* r = std::get_if<remark>(&m);
    return r != nullptr && r->line.find("waits 5.0 s for ") != std::string::npos;
  }));
}

BOOST_AUTO_TEST_CASE(a_peer_lost_before_the_plan_is_waited_for) {
  world w(7, chain(6, 8, 2), {record_of(1), record_of(2), record_of(3)});
  w.calibrate_and_link();
  w.cut(1, 3, {errc::io, "connection reset"});
  w.cut(2, 3, {errc::io, "connection reset"});
  w.ask(1, submission{job_of(1, 2, stages(3))});
  w.run_until(w.now + 1s);
  BOOST_TEST(w.progress_of(1, job)->why.what == "waiting for p3 to link");
  w.link(1, 3);
  w.link(2, 3);
  BOOST_TEST(end_at(w, 1) == "finished after 2: ");
}

BOOST_AUTO_TEST_CASE(a_peer_without_the_data_is_left_out_of_the_plan) {
  world w(8, chain(6, 8, 2), {record_of(1), record_of(2), record_of(3)});
  w.profile_errors[1] = {errc::io, "cannot open corpus.txt"};
  w.calibrate_and_link();
  w.ask(3, submission{job_of(1, 2, stages(2))});
  BOOST_TEST(end_at(w, 3) == "finished after 2: ");
  BOOST_TEST(place_of(w.progress_of(3, job)->current, {1}).stage == 2U);
  BOOST_TEST(end_at(w, 1) == "finished after 2: ");
}

BOOST_AUTO_TEST_CASE(a_job_that_fits_nowhere_is_halted_for_all_with_the_shortage) {
  world w(9, chain(6, 8, 2), {record_of(1), record_of(2, 1, {1000}), record_of(3)});
  w.calibrate_and_link();
  w.ask(3, submission{job_of(1, 2, stages(3))});
  for (const std::uint64_t peer : {1, 2, 3}) {
    const std::string end = end_at(w, peer);
    BOOST_TEST(end.starts_with("halted after 0: no plan fits: p2 would need "));
    BOOST_TEST(end.find("short by ") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(a_peer_that_never_answers_a_proposal_is_named) {
  world w(10, chain(6, 8, 2), {record_of(1), record_of(2), record_of(3)});
  w.mute.insert(2);
  w.calibrate_and_link();
  w.ask(1, submission{job_of(1, 2, stages(3))});
  for (const std::uint64_t peer : {1, 2, 3})
    BOOST_TEST(end_at(w, peer).find("p2 did not answer the proposal of epoch 1 within 60.0 s") !=
               std::string::npos);
  BOOST_TEST(w.executors.empty());
}

BOOST_AUTO_TEST_CASE(who_links_late_learns_how_a_job_stands) {
  world w(11, chain(6, 8, 2), {record_of(1), record_of(2), record_of(3)});
  w.calibrate_and_link();
  wishes wanted = stages(2);
  wanted.order = {{1}, {2}};
  w.ask(1, submission{job_of(1, 30, wanted)});
  BOOST_REQUIRE(reaches(w, 3));
  for (const std::uint64_t peer : {1, 2}) {
    w.cut(peer, 3, {errc::io, "connection reset"});
    w.link(peer, 3);
  }
  BOOST_TEST(end_at(w, 3) == "finished after 30: ");
}

BOOST_AUTO_TEST_SUITE_END()
