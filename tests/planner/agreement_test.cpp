#include "planner/swarm/agreement.hpp"

#include "planner/limits.hpp"
#include "proto/stage_memory.hpp"
#include "tests/planner/world.hpp"

#include <boost/test/unit_test.hpp>

using namespace perigee;
using namespace perigee::planner;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(agreement)

namespace {

/// p1 among members p2 and p3, all ready; what p1 sends to itself comes back.
struct bench {
  swarm_view view;
  job_record job;
  result<model_profile> model = testing::chain(3, 4, 1);
  std::unique_ptr<planner::agreement> machine;
  instant now{};
  std::vector<action> sent;

  explicit bench(std::uint32_t stages = 3) {
    wishes wanted;
    wanted.stages = stages;
    wanted.replicas = {1};
    job = testing::job_of(1, 5, wanted);
    view.self = ready(1);
    for (const std::uint64_t id : {2, 3}) view.members[{id}] = {ready(id), true, true};
    machine = std::make_unique<planner::agreement>(view, job);
  }
  static peer_record ready(std::uint64_t id) {
    peer_record r = testing::record_of(id);
    r.rate = {1'000'000'000, 1, 1, 1'000'000'000};
    return r;
  }
  void know() {
    outbox out;
    machine->note_profile(now, model, out);
    take(out);
  }
  void give(const event& e) {
    outbox out;
    machine->step(now, e, out);
    take(out);
  }
  void take(outbox& out) {
    for (action& a : out.drained()) {
      sent.push_back(a);
      const auto* s = std::get_if<send>(&a);
      if (s != nullptr && s->to == view.self.peer) give(received{{1}, s->what});
    }
  }
  void wait() {
    now = std::max(now, machine->deadline());
    give(due{});
  }
  /// p1 proposes, however long it has to wait for others.
  proposal propose() {
    know();
    while (last<proposal>() == nullptr) wait();
    return *last<proposal>();
  }
  template <class Message>
  const Message* last() const {
    for (auto a = sent.rbegin(); a != sent.rend(); ++a)
      if (const auto* s = std::get_if<send>(&*a))
        if (const auto* m = std::get_if<Message>(&s->what)) return m;
    return nullptr;
  }
  /// Returns the actions since the last call, without notes.
  std::string lines() {
    std::string all;
    for (const action& a : std::exchange(sent, {}))
      if (!std::holds_alternative<note>(a)) all += (all.empty() ? "" : "\n") + text(a);
    return all;
  }
  std::string phase() const { return std::string(text(machine->phase())); }
};

/// A plan over p2, p1, p3, a layer each.
proposal from_p2(std::uint64_t epoch, std::uint32_t in_flight = 4) {
  proposal p;
  p.what.job = {{0, 1}};
  p.what.epoch = epoch;
  p.what.stages = {{0, 1, in_flight, {{{2}, 0, 4, 1}}},
                   {1, 1, in_flight, {{{1}, 0, 4, 1}}},
                   {2, 1, in_flight, {{{3}, 0, 4, 1}}}};
  return p;
}

refusal stale(const proposal& p, const std::string& why) {
  return {p.what.job, p.what.epoch, digest_of(p.what), {errc::stale, why}, {}, {}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(nothing_is_proposed_before_all_are_linked_and_calibrated) {
  bench b;
  b.view.members[{2}].linked = false;
  b.view.members[{3}].linked = false;
  b.know();
  BOOST_TEST(b.machine->why().what == "waiting for p2, p3 to link");
  b.view.members[{2}] = {testing::record_of(2), true, true};
  b.give(linked{{2}});
  BOOST_TEST(b.machine->why().what == "waiting for p3 to link and for p2 to be calibrated");
  BOOST_TEST(b.machine->remarks().size() == 2U);
  b.wait();
  BOOST_TEST(b.machine->remarks().size() == 1U);
  BOOST_TEST(b.lines() == "");
}

BOOST_AUTO_TEST_CASE(each_rank_waits_for_those_before_it) {
  std::set<duration> waits;
  for (const std::uint64_t self : {1, 2, 3}) {
    bench b;
    b.view.self = bench::ready(self);
    b.view.members.clear();
    for (const std::uint64_t id : {1, 2, 3})
      if (id != self) b.view.members[{id}] = {bench::ready(id), true, true};
    b.know();
    waits.insert(b.last<proposal>() != nullptr ? 0ms : b.machine->deadline() - instant{});
  }
  BOOST_TEST(
      (waits == std::set<duration>{0ms, limits::proposal_patience, 2 * limits::proposal_patience}));
}

BOOST_AUTO_TEST_CASE(the_record_goes_ahead_of_the_proposal) {
  bench b;
  b.propose();
  const std::string lines = b.lines();
  BOOST_TEST(lines.find("send p2 job ") < lines.find("send p2 proposal"));
}

BOOST_AUTO_TEST_CASE(a_plan_that_all_accept_is_committed) {
  bench b;
  const proposal p = b.propose();
  b.give(prepared{b.job.job, p.what.epoch, {}});
  BOOST_TEST(b.phase() == "accepted");
  const acceptance yes{b.job.job, p.what.epoch, digest_of(p.what)};
  b.give(received{{2}, yes});
  b.give(received{{2}, yes});
  BOOST_TEST(b.phase() == "accepted");
  b.lines();
  b.give(received{{3}, yes});
  BOOST_TEST(b.phase() == "committed");
  BOOST_TEST(b.last<commitment>() != nullptr);
  BOOST_TEST((b.machine->deadline() == never));
}

BOOST_AUTO_TEST_CASE(answers_about_another_plan_do_not_count) {
  bench b;
  const proposal p = b.propose();
  b.give(prepared{b.job.job, p.what.epoch, {}});
  for (const std::uint64_t who : {2, 3}) {
    b.give(received{{who}, acceptance{b.job.job, p.what.epoch, 99}});
    b.give(received{{who}, acceptance{b.job.job, p.what.epoch + 1, digest_of(p.what)}});
  }
  BOOST_TEST(b.phase() == "accepted");
}

BOOST_AUTO_TEST_CASE(a_peer_that_is_short_gets_less_in_the_next_epoch) {
  bench b(2);
  b.view.members.erase({3});
  b.model = testing::chain(6, 4, 1);
  const proposal first = b.propose();
  const place at = place_of(first.what, {2});
  const bytes needed = stage_memory(*b.model, first.what, at);
  b.give(received{{2},
                  refusal{b.job.job,
                          first.what.epoch,
                          digest_of(first.what),
                          {errc::infeasible, "p2 is short"},
                          needed,
                          needed - bytes{1}}});
  const proposal second = *b.last<proposal>();
  BOOST_TEST(second.what.epoch == first.what.epoch + 1);
  BOOST_TEST(stage_memory(*b.model, second.what, place_of(second.what, {2})).count < needed.count);
  BOOST_TEST(b.lines().find("discard executor") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(if_no_plan_fits_the_job_fails_with_the_peer_that_is_short) {
  bench b;
  const proposal p = b.propose();
  b.give(received{{2},
                  refusal{b.job.job,
                          p.what.epoch,
                          digest_of(p.what),
                          {errc::infeasible, "p2 is short"},
                          {1000},
                          {10}}});
  BOOST_TEST(b.phase() == "failed");
  BOOST_TEST(b.machine->why().what.find("p2 would need ") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_peer_that_cannot_is_left_out_and_named_if_it_was_needed) {
  bench b;
  const proposal p = b.propose();
  b.give(received{{3},
                  refusal{b.job.job,
                          p.what.epoch,
                          digest_of(p.what),
                          {errc::io, "p3 cannot take part: no such file"},
                          {},
                          {}}});
  BOOST_TEST(b.phase() == "failed");
  BOOST_TEST(b.machine->why().what.ends_with("; without p3: p3 cannot take part: no such file"));
}

BOOST_AUTO_TEST_CASE(proposals_come_to_an_end) {
  bench b;
  b.know();
  for (std::uint32_t i = 0; i < limits::proposals_max; ++i) {
    b.sent.clear();
    while (b.last<proposal>() == nullptr) b.wait();
    b.give(received{{2}, stale(*b.last<proposal>(), "busy")});
  }
  while (b.phase() != "failed") b.wait();
  BOOST_TEST(b.machine->why().what ==
             "no plan was accepted in 8 proposals; the last was refused: busy");
}

BOOST_AUTO_TEST_CASE(peers_that_do_not_answer_are_named) {
  bench b;
  const proposal p = b.propose();
  b.give(prepared{b.job.job, p.what.epoch, {}});
  b.give(received{{2}, acceptance{b.job.job, p.what.epoch, digest_of(p.what)}});
  b.wait();
  BOOST_TEST(b.phase() == "failed");
  BOOST_TEST(b.machine->why().what == "p3 did not answer the proposal of epoch 1 within 60.0 s");
}

BOOST_AUTO_TEST_CASE(a_proposal_is_prepared_and_accepted) {
  bench b;
  b.know();
  b.lines();
  const proposal p = from_p2(5);
  b.give(received{{2}, p});
  BOOST_TEST(b.lines() == "prepare " + text(message{p}));
  BOOST_TEST(b.view.reserved.at(b.job.job).count > 0U);
  b.give(prepared{b.job.job, 5, {}});
  BOOST_TEST(b.lines() == "send p2 " + text(message{acceptance{b.job.job, 5, digest_of(p.what)}}));
}

BOOST_AUTO_TEST_CASE(a_proposal_waits_for_the_profile) {
  bench b;
  b.give(received{{2}, from_p2(5)});
  BOOST_TEST(b.lines() == "");
  b.know();
  BOOST_TEST(b.phase() == "preparing");
}

BOOST_AUTO_TEST_CASE(who_cannot_read_the_data_refuses_with_the_reason) {
  bench b;
  b.model = error{errc::io, "cannot open corpus.txt"};
  b.know();
  b.give(received{{2}, from_p2(5)});
  BOOST_TEST(b.last<refusal>()->why.what == "p1 cannot take part: cannot open corpus.txt");
}

BOOST_AUTO_TEST_CASE(who_is_not_calibrated_refuses) {
  bench b;
  b.view.self.rate = {};
  b.know();
  b.give(received{{2}, from_p2(5)});
  BOOST_TEST(b.last<refusal>()->why.what == "p1 is not calibrated yet");
}

BOOST_AUTO_TEST_CASE(a_state_that_is_not_here_is_refused) {
  bench b;
  b.know();
  proposal p = from_p2(5);
  p.base_step = 3;
  b.give(received{{2}, p});
  BOOST_TEST(b.last<refusal>()->why.what == "p1 does not have the state after step 3");
}

BOOST_AUTO_TEST_CASE(memory_that_other_jobs_hold_is_not_offered) {
  bench b;
  b.know();
  b.view.self.memory_offer = {1U << 20U};
  b.view.reserved[{{0, 9}}] = {(1U << 20U) - 10};
  b.give(received{{2}, from_p2(5)});
  BOOST_TEST(b.last<refusal>()->offered.count == 10U);
  const std::string held = text(bytes{(1U << 20U) - 10});
  BOOST_TEST(b.last<refusal>()->why.what.ends_with("(" + held + " are held for other jobs)"));
}

BOOST_AUTO_TEST_CASE(an_executor_that_cannot_be_built_is_a_refusal) {
  bench b;
  b.know();
  b.give(received{{2}, from_p2(5)});
  b.give(prepared{b.job.job, 5, error{errc::exhausted, "out of memory"}});
  BOOST_TEST(b.last<refusal>()->why.what == "p1 cannot prepare its part: out of memory");
  BOOST_TEST(b.view.reserved.empty());
}

BOOST_AUTO_TEST_CASE(a_higher_epoch_wins_and_the_old_executor_goes) {
  bench b;
  b.know();
  b.give(received{{2}, from_p2(5)});
  b.give(prepared{b.job.job, 5, {}});
  b.lines();
  b.give(received{{3}, from_p2(6)});
  BOOST_TEST(b.lines() ==
             "discard executor of job 000000000000 epoch 5\nprepare " + text(message{from_p2(6)}));
  b.give(received{{2}, from_p2(5, 5)});
  BOOST_TEST(b.last<refusal>()->why.what == "epoch 5 is older than 6");
}

BOOST_AUTO_TEST_CASE(a_plan_of_the_same_epoch_is_refused_once_another_is_prepared) {
  bench b;
  b.know();
  b.give(received{{2}, from_p2(5)});
  b.give(received{{3}, from_p2(5, 5)});
  BOOST_TEST(b.last<refusal>()->why.what == "p1 prepared another plan of epoch 5");
}

BOOST_AUTO_TEST_CASE(of_one_epoch_the_higher_digest_goes_first) {
  proposal low = from_p2(5, 4);
  proposal high = from_p2(5, 5);
  if (digest_of(low.what) > digest_of(high.what)) std::swap(low, high);
  for (const bool low_first : {true, false}) {
    bench b;
    b.give(received{{2}, low_first ? low : high});
    b.give(received{{3}, low_first ? high : low});
    BOOST_TEST((*b.machine->current() == high));
    BOOST_TEST((b.last<refusal>() != nullptr) == !low_first);
  }
}

BOOST_AUTO_TEST_CASE(a_proposer_that_is_lost_is_waited_for_no_more) {
  bench b;
  b.know();
  b.give(received{{2}, from_p2(5)});
  b.lines();
  b.view.members[{2}].linked = false;
  b.give(unlinked{{2}, {}});
  BOOST_TEST(b.lines() == "discard executor of job 000000000000 epoch 5");
  BOOST_TEST(b.machine->why().what == "waiting for p2 to link");
}

BOOST_AUTO_TEST_CASE(a_proposer_that_never_commits_is_given_up) {
  bench b;
  b.know();
  b.give(received{{2}, from_p2(5)});
  b.give(prepared{b.job.job, 5, {}});
  b.sent.clear();
  while (b.last<proposal>() == nullptr) b.wait();
  BOOST_TEST(b.last<proposal>()->what.epoch == 6U);
}

BOOST_AUTO_TEST_CASE(a_commitment_that_was_not_accepted_is_as_good_as_a_loss) {
  bench b;
  b.know();
  b.give(received{{2}, commitment{from_p2(5)}});
  BOOST_TEST(b.last<halt>()->why.what == "p1 gave up the plan of epoch 5 before it was committed");
  BOOST_TEST(b.last<halt>()->epoch == 5U);
  while (b.last<proposal>() == nullptr) b.wait();
  BOOST_TEST(b.last<proposal>()->what.epoch == 6U);
}

BOOST_AUTO_TEST_CASE(a_plan_that_was_given_up_is_not_taken_up_again) {
  bench b;
  b.know();
  b.give(received{{2}, from_p2(5)});
  b.give(prepared{b.job.job, 5, {}});
  b.give(received{{2}, commitment{from_p2(5)}});
  outbox out;
  BOOST_TEST(b.machine->recover(5, out));
  BOOST_TEST(!b.machine->recover(5, out));
  b.give(received{{3}, commitment{from_p2(5)}});
  BOOST_TEST(b.phase() != "committed");
}

BOOST_AUTO_TEST_CASE(who_misses_a_peer_of_the_plan_refuses_and_is_asked_again) {
  bench b;
  const proposal p = b.propose();
  const error why{errc::unavailable, "p2 has no link to a peer of the plan"};
  b.give(received{{2}, refusal{b.job.job, p.what.epoch, digest_of(p.what), why, {}, {}}});
  while (b.last<proposal>()->what.epoch == p.what.epoch) b.wait();
  BOOST_TEST((participants(b.last<proposal>()->what) == participants(p.what)));
}

BOOST_AUTO_TEST_CASE(a_job_that_is_done_here_gives_way_to_those_who_still_need_it) {
  bench b;
  b.know();
  b.give(received{{2}, from_p2(5)});
  b.give(prepared{b.job.job, 5, {}});
  b.give(received{{2}, commitment{from_p2(5)}});
  b.machine->note_done();
  b.give(received{{3}, from_p2(7)});
  BOOST_TEST(b.phase() == "preparing");
}

BOOST_AUTO_TEST_CASE(a_proposal_after_the_end_is_answered_with_the_reason) {
  bench b;
  outbox out;
  b.machine->abandon({errc::io, "over"}, out);
  b.give(received{{2}, from_p2(5)});
  BOOST_TEST(b.last<halt>()->why.what == "over");
}

BOOST_AUTO_TEST_CASE(a_committed_job_refuses_further_plans) {
  bench b;
  b.know();
  b.give(received{{2}, from_p2(5)});
  b.give(prepared{b.job.job, 5, {}});
  b.give(received{{2}, commitment{from_p2(5)}});
  b.give(received{{3}, from_p2(7)});
  BOOST_TEST(b.last<refusal>()->why.what == "the job runs in epoch 5");
}

BOOST_AUTO_TEST_SUITE_END()
