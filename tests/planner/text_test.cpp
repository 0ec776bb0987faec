#include "planner/action.hpp"
#include "planner/event.hpp"

#include <boost/test/unit_test.hpp>

using namespace perigee;
using namespace perigee::planner;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(text)

namespace {

constexpr job_id job{{0xabcdef0123456789U, 0}};
const tensor_ref tensor{tensor_kind::activation, 17, 2, 3};

}  // namespace

BOOST_AUTO_TEST_CASE(events_are_one_line) {
  const std::pair<event, std::string> lines[] = {
      {linked{{2}}, "linked p2"},
      {linked{{9}, true}, "linked p9 as a client"},
      {unlinked{{2}, {errc::io, "connection reset"}}, "unlinked p2, io: connection reset"},
      {heard{{2}}, "heard p2"},
      {received{{2}, ping{8}}, "received from p2 ping 8"},
      {arrived{{2}, job, tensor, {64}},
       "arrived from p2 activation 3@2 of step 17 of job abcdef012345 (64 B)"},
      {transmitted{{2}, job, tensor, {64}},
       "transmitted to p2 activation 3@2 of step 17 of job abcdef012345 (64 B)"},
      {profiled{job, model_profile{}}, "profiled job abcdef012345, 0 layers"},
      {profiled{job, error{errc::io, "no file"}}, "profiled job abcdef012345, io: no file"},
      {prepared{job, 4, {}}, "prepared of job abcdef012345 epoch 4"},
      {prepared{job, 4, error{errc::exhausted, "full"}},
       "prepared of job abcdef012345 epoch 4, exhausted: full"},
      {computed{job, 4, 1, {task_kind::forward, 17, 3, {}}, {}},
       "computed lane 1 forward 3 of step 17 of job abcdef012345 epoch 4, done, 0 ns"},
      {calibrated{{1, 2, 3, 4}, 5}, "calibrated 1 2 3 4, fingerprint 5"},
      {submitted{{job, {}, {}}}, "submitted job abcdef012345 ''"},
      {due{}, "due"},
  };
  for (const auto& [what, line] : lines) BOOST_TEST(planner::text(what) == line);
}

BOOST_AUTO_TEST_CASE(actions_are_one_line) {
  const std::pair<action, std::string> lines[] = {
      {send{{2}, ping{8}}, "send p2 ping 8"},
      {transmit{{2}, job, 1, tensor, {64}},
       "transmit p2 activation 3@2 of step 17 of job abcdef012345 (64 B)"},
      {profile{{job, {}, {}}}, "profile job abcdef012345 ''"},
      {compute{job, 4, 1, {task_kind::fold, 17, 3, {}}},
       "compute lane 1 fold 3 of step 17 of job abcdef012345 epoch 4"},
      {discard{job, 4}, "discard executor of job abcdef012345 epoch 4"},
      {disconnect{{2}, {errc::timed_out, "silent"}}, "disconnect p2, timed out: silent"},
      {note{level::detail, "a"}, "note detail a"},
      {note{level::info, "a"}, "note info a"},
      {note{level::warning, "a"}, "note warning a"},
      {leave{}, "leave"},
  };
  for (const auto& [what, line] : lines) BOOST_TEST(planner::text(what) == line);
}

BOOST_AUTO_TEST_SUITE_END()
