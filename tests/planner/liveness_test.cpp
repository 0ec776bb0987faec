#include "planner/swarm/liveness.hpp"

#include "planner/limits.hpp"

#include <boost/test/unit_test.hpp>

using namespace perigee;
using namespace perigee::planner;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(liveness)

namespace {

struct bench {
  planner::liveness machine;
  outbox out;
  std::string step(duration at, const event& e) {
    machine.step(instant{at}, e, out);
    std::string lines;
    for (const action& a : out.drained()) lines += (lines.empty() ? "" : "\n") + text(a);
    return lines;
  }
  /// Time goes on in (from, to], and nothing comes.
  void idle(duration from, duration to) {
    for (duration at = from + 500ms; at <= to; at += 500ms) step(at, due{});
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_idle_link_carries_a_ping_each_period) {
  bench b;
  b.step(0s, linked{{2}});
  BOOST_TEST((b.machine.deadline() == instant{500ms}));
  BOOST_TEST(b.step(499ms, due{}) == "");
  BOOST_TEST(b.step(500ms, due{}) == "send p2 ping 1");
  BOOST_TEST(b.step(1s, due{}) == "send p2 ping 2");
}

BOOST_AUTO_TEST_CASE(a_link_with_other_messages_needs_no_ping) {
  bench b;
  b.step(0s, linked{{2}});
  b.machine.note_sent(instant{400ms}, {2});
  BOOST_TEST(b.step(500ms, due{}) == "");
  BOOST_TEST(b.step(900ms, due{}) == "send p2 ping 1");
}

BOOST_AUTO_TEST_CASE(a_ping_is_answered) {
  bench b;
  b.step(0s, linked{{2}});
  BOOST_TEST(b.step(1ms, received{{2}, ping{7}}) == "send p2 pong 7");
}

BOOST_AUTO_TEST_CASE(a_silent_member_is_lost_once) {
  bench b;
  b.step(0s, linked{{2}});
  b.idle(0s, 5500ms);
  BOOST_TEST(b.step(6s, due{}) == "disconnect p2, timed out: silent for 6.0 s");
  const auto lost = b.machine.lost();
  BOOST_TEST(lost.size() == 1U);
  BOOST_TEST(text(event{lost.at(0)}) == "unlinked p2, timed out: silent for 6.0 s");
  BOOST_TEST(b.machine.lost().empty());
  BOOST_TEST((b.machine.deadline() == never));
}

BOOST_AUTO_TEST_CASE(whatever_comes_is_a_sign_of_life) {
  for (const event& sign :
       {event{heard{{2}}}, event{received{{2}, pong{1}}}, event{arrived{{2}, {}, {}, {}}}}) {
    bench b;
    b.step(0s, linked{{2}});
    b.idle(0s, 5s);
    b.step(5s, sign);
    b.idle(5s, 10500ms);
    BOOST_TEST(b.machine.lost().empty());
    b.step(11s, due{});
    BOOST_TEST(b.machine.lost().size() == 1U);
  }
}

BOOST_AUTO_TEST_CASE(who_was_stalled_itself_blames_nobody) {
  bench b;
  b.step(0s, linked{{2}});
  b.step(30s, due{});
  BOOST_TEST(b.machine.lost().empty());
  b.idle(30s, 36s);
  BOOST_TEST(b.machine.lost().size() == 1U);
}

BOOST_AUTO_TEST_CASE(clients_and_members_whose_link_broke_are_not_watched) {
  bench b;
  b.step(0s, linked{{9}, true});
  b.step(0s, linked{{2}});
  b.step(1ms, unlinked{{2}, {}});
  BOOST_TEST((b.machine.deadline() == never));
}

BOOST_AUTO_TEST_SUITE_END()
