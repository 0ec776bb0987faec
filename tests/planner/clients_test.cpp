// What clients and neighbours ask of a peer, and what it answers.

#include "planner/limits.hpp"
#include "tests/planner/world.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace perigee;
using namespace perigee::planner;
using namespace perigee::planner::testing;

BOOST_AUTO_TEST_SUITE(clients)

namespace {

constexpr job_id job{{0, 1}};
const peer_id client{1000};

/// p1 alone with the one member p2, linked; a client is linked too.
struct bench {
  peer machine;
  instant now{};
  bench() : machine(peer_config{record_of(1), {record_of(2)}}) {
    step(linked{{2}});
    step(linked{client, true});
  }
  std::string step(const event& e) {
    outbox out;
    machine.step(now, e, out);
    std::string lines;
    for (const action& a : out.drained())
      if (!std::holds_alternative<note>(a)) lines += (lines.empty() ? "" : "\n") + text(a);
    return lines;
  }
  std::string from_client(const message& what) { return step(received{client, what}); }
  std::string from_member(const message& what) { return step(received{{2}, what}); }
};

profiled known(std::uint64_t number) { return {{{0, number}}, chain(4, 8, 2)}; }

world finished_pair() {
  world w(1, chain(4, 8, 2), {record_of(1), record_of(2)});
  w.calibrate_and_link();
  wishes wanted;
  wanted.stages = 2;
  wanted.order = {{1}, {2}};
  w.ask(1, submission{job_of(1, 3, wanted)});
  w.run_to_end(1, job);
  w.run_to_end(2, job);
  w.traces = true;
  return w;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_submitted_job_is_profiled_before_it_spreads) {
  bench b;
  BOOST_TEST(b.from_client(submission{job_of(1, 3, {})}) == "profile job 000000000000 ''");
  BOOST_TEST(b.step(known(1)) ==
             "send p2 job 000000000000 ''\nsend p1000 receipt of job 000000000000, accepted");
}

BOOST_AUTO_TEST_CASE(a_job_that_cannot_be_profiled_is_refused_and_does_not_spread) {
  bench b;
  b.from_client(submission{job_of(1, 3, {})});
  BOOST_TEST(b.step(profiled{job, error{errc::io, "cannot open corpus.txt"}}) ==
             "send p1000 receipt of job 000000000000, io: cannot open corpus.txt\n"
             "announce progress of job 000000000000, halted, step 0/3, io: cannot open corpus.txt");
  BOOST_TEST(b.machine.report().jobs.empty());
}

BOOST_AUTO_TEST_CASE(a_job_submitted_twice_is_one_job) {
  bench b;
  b.from_client(submission{job_of(1, 3, {})});
  b.step(known(1));
  BOOST_TEST(b.from_client(submission{job_of(1, 3, {})}) ==
             "send p1000 receipt of job 000000000000, accepted");
  BOOST_TEST(b.machine.report().jobs.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_job_submitted_in_this_process_is_announced) {
  bench b;
  BOOST_TEST(b.step(submitted{job_of(1, 3, {})}) == "profile job 000000000000 ''");
  BOOST_TEST(b.step(known(1)) == "send p2 job 000000000000 ''");
}

BOOST_AUTO_TEST_CASE(a_job_heard_of_is_profiled_and_known) {
  bench b;
  BOOST_TEST(b.from_member(job_of(1, 3, {})) == "profile job 000000000000 ''");
  BOOST_TEST(b.from_member(job_of(1, 3, {})) == "");
  BOOST_TEST(b.step(profiled{job, error{errc::io, "cannot open corpus.txt"}}) == "");
  BOOST_TEST(b.machine.report().jobs.at(0).why.what ==
             "cannot take part, waiting for a plan of others: cannot open corpus.txt");
  BOOST_TEST(b.from_client(submission{job_of(1, 3, {})}) ==
             "send p1000 receipt of job 000000000000, accepted");
}

BOOST_AUTO_TEST_CASE(jobs_beyond_the_limit_are_refused) {
  bench b;
  for (std::uint64_t i = 1; i <= limits::jobs_max; ++i) b.from_client(submission{job_of(i, 3, {})});
  BOOST_TEST(b.from_client(submission{job_of(99, 3, {})}) ==
             "send p1000 receipt of job 000000000000, exhausted: 64 jobs are under way here");
  BOOST_TEST(b.from_member(job_of(98, 3, {})) == "");
  // A job that is over makes room.
  b.step(known(1));
  b.from_member(halt{job, 0, 0, {errc::io, "over"}});
  BOOST_TEST(b.from_client(submission{job_of(99, 3, {})}) == "profile job 000000000000 ''");
  BOOST_TEST(b.machine.report().jobs.size() == limits::jobs_max);
}

BOOST_AUTO_TEST_CASE(a_subscriber_hears_how_the_job_stands) {
  bench b;
  b.from_client(submission{job_of(1, 3, {})});
  BOOST_TEST(b.from_client(subscription{job}) ==
             "send p1000 progress of job 000000000000, waiting, step 0/3");
  BOOST_TEST(b.from_client(subscription{{{0, 5}}}) ==
             "send p1000 receipt of job 000000000000, unavailable: no such job here");
}

BOOST_AUTO_TEST_CASE(subscribers_beyond_the_limit_are_refused) {
  bench b;
  b.from_client(submission{job_of(1, 3, {})});
  for (std::uint64_t i = 0; i < limits::subscribers_max; ++i) {
    b.step(linked{{2000 + i}, true});
    b.step(received{{2000 + i}, subscription{job}});
  }
  const std::string full =
      "send p1000 receipt of job 000000000000, exhausted: too many follow jobs through this peer";
  BOOST_TEST(b.from_client(subscription{job}) == full);
  b.step(unlinked{{2000}, {}});
  BOOST_TEST(b.from_client(subscription{job}) != full);
}

BOOST_AUTO_TEST_CASE(a_finished_job_gives_its_states) {
  world w = finished_pair();
  const std::uint32_t layer = w.progress_of(1, job)->current.stages[0].layer_first;
  w.ask(1, state_request{job, layer});
  BOOST_TEST(w.trace.back() ==
             "p1 transmit p1001 state 0 after 3 steps of job 000000000000 (8192 B)");
}

BOOST_AUTO_TEST_CASE(a_state_held_elsewhere_names_its_holder) {
  world w = finished_pair();
  w.ask(1, state_request{job, 3});
  BOOST_TEST(w.trace.back() ==
             "p1 send p1001 missing state of layer 3 of job 000000000000, "
             "unavailable: layer 3 is held by p2");
  w.ask(1, state_request{job, 4});
  BOOST_TEST(w.trace.back() ==
             "p1 send p1001 missing state of layer 4 of job 000000000000, "
             "malformed: the model has no layer 4");
  w.ask(1, state_request{{{0, 7}}, 0});
  BOOST_TEST(w.trace.back() ==
             "p1 send p1001 missing state of layer 0 of job 000000000000, "
             "unavailable: no such job here");
}

BOOST_AUTO_TEST_CASE(a_job_that_runs_or_never_ran_gives_no_state) {
  bench b;
  b.from_client(submission{job_of(1, 3, {})});
  BOOST_TEST(b.from_client(state_request{job, 0}) ==
             "send p1000 missing state of layer 0 of job 000000000000, unavailable: the job runs");
  b.step(known(1));
  b.from_member(halt{job, 0, 0, {errc::io, "over"}});
  BOOST_TEST(b.from_client(state_request{job, 0}) ==
             "send p1000 missing state of layer 0 of job 000000000000, unavailable: the job never "
             "ran");
}

BOOST_AUTO_TEST_CASE(the_status_tells_of_members_and_jobs) {
  bench b;
  b.from_client(submission{job_of(1, 3, {})});
  BOOST_TEST(b.from_client(status_request{}) ==
             "send p1000 status report of p1, 1 neighbours, 1 jobs");
  const auto all = b.machine.report();
  BOOST_TEST(all.neighbours.at(0).linked);
  BOOST_TEST(all.neighbours.at(0).record.name == "p2");
}

BOOST_AUTO_TEST_CASE(only_a_client_may_end_a_peer_or_submit) {
  bench b;
  BOOST_TEST(b.from_member(farewell{}) == "");
  BOOST_TEST(b.from_member(submission{job_of(1, 3, {})}) == "");
  BOOST_TEST(b.from_client(job_of(1, 3, {})) == "");
  BOOST_TEST(b.from_client(farewell{}) == "leave");
}

BOOST_AUTO_TEST_CASE(who_is_not_linked_is_not_heard) {
  bench b;
  BOOST_TEST(b.step(received{{77}, farewell{}}) == "");
  BOOST_TEST(b.step(received{{77}, status_request{}}) == "");
  b.step(unlinked{client, {}});
  BOOST_TEST(b.from_client(status_request{}) == "");
}

BOOST_AUTO_TEST_CASE(a_stranger_is_turned_away) {
  bench b;
  BOOST_TEST(b.step(linked{{9}}) ==
             "disconnect p9, unknown peer: p9 is not in the list of members");
}

BOOST_AUTO_TEST_CASE(a_link_begins_with_the_own_record_and_the_jobs_under_way) {
  bench b;
  b.from_client(submission{job_of(1, 3, {})});
  b.step(known(1));
  b.step(unlinked{{2}, {errc::io, "gone"}});
  BOOST_TEST(b.step(linked{{2}}) ==
             "send p2 peer record p1 'p1' at , version 0.0\nsend p2 job 000000000000 ''");
}

BOOST_AUTO_TEST_CASE(a_record_changes_only_to_a_newer_one) {
  bench b;
  const auto tell = [&](std::uint64_t incarnation, std::uint64_t version, std::string name) {
    peer_record r = record_of(2);
    r.incarnation = incarnation;
    r.version = version;
    r.name = std::move(name);
    b.from_member(r);
    return b.machine.report().neighbours.at(0).record.name;
  };
  BOOST_TEST(tell(1, 1, "first") == "first");
  BOOST_TEST(tell(1, 1, "again") == "first");
  BOOST_TEST(tell(1, 2, "newer") == "newer");
  BOOST_TEST(tell(0, 9, "older") == "newer");
  BOOST_TEST(tell(2, 0, "reborn") == "reborn");
}

BOOST_AUTO_TEST_CASE(a_calibrated_peer_tells_its_new_record) {
  bench b;
  BOOST_TEST(b.step(calibrated{{1, 1, 1, 1}, 9}) == "send p2 peer record p1 'p1' at , version 0.1");
}

BOOST_AUTO_TEST_SUITE_END()
