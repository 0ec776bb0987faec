#include "proto/fitted_status.hpp"

#include "proto/codec.hpp"

#include <boost/test/unit_test.hpp>

namespace {

using perigee::fitted;
using perigee::job_phase;
using perigee::status_report;

constexpr std::size_t frame = 65'536;

std::size_t size_of(const status_report& r) { return encoded(perigee::message(r)).size(); }

/// Peers 1 to `peers`, none of them linked, and jobs on the last of them.
status_report report_of(std::uint64_t peers, std::uint64_t jobs) {
  status_report made;
  for (std::uint64_t i = 1; i <= peers; ++i) {
    auto& n = made.neighbours.emplace_back();
    n.record.peer = {i};
    n.record.name = "peer " + std::to_string(i);
    n.record.address = "127.0.0.1:7001";
  }
  for (std::uint64_t i = 1; i <= jobs; ++i) {
    auto& p = made.jobs.emplace_back();
    p.job = {{i, i}};
    p.phase = i % 2 == 0 ? job_phase::running : job_phase::finished;
    p.current.stages = {{0, 1, 1, {{{peers}, 0, 1, 1}}}};
    p.last.states.resize(100);
  }
  return made;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(fitted_status)

BOOST_AUTO_TEST_CASE(a_report_that_fits_is_left_alone) {
  const auto whole = report_of(10, 3);
  const auto made = fitted(whole, frame);
  BOOST_TEST((made.report == whole));
  BOOST_TEST(made.omitted == "");
}

BOOST_AUTO_TEST_CASE(of_many_peers_those_that_work_and_are_linked_stay) {
  auto whole = report_of(4096, 1);
  whole.neighbours[2000].linked = true;
  const auto made = fitted(whole, frame);
  BOOST_TEST(size_of(made.report) <= frame);
  BOOST_TEST(made.report.jobs.size() == 1U);
  const auto kept = made.report.neighbours.size();
  BOOST_TEST(kept > 300U);
  BOOST_TEST((made.report.neighbours[0].record.peer == perigee::peer_id{1}));
  BOOST_TEST((made.report.neighbours[kept - 2].record.peer == perigee::peer_id{2001}));
  BOOST_TEST((made.report.neighbours[kept - 1].record.peer == perigee::peer_id{4096}));
  BOOST_TEST(made.omitted == "the report is cut: no digests and accounts of jobs, " +
                                 std::to_string(kept) + " of 4096 peers");
}

BOOST_AUTO_TEST_CASE(of_many_jobs_those_that_run_stay) {
  auto whole = report_of(1, 64);
  for (auto& job : whole.jobs) job.current.stages.resize(200);
  const auto made = fitted(whole, frame);
  BOOST_TEST(size_of(made.report) <= frame);
  BOOST_TEST(made.report.neighbours.empty());
  BOOST_REQUIRE(!made.report.jobs.empty());
  for (const auto& job : made.report.jobs) BOOST_TEST((job.phase == job_phase::running));
  BOOST_TEST(made.omitted.ends_with(", 0 of 1 peers, " + std::to_string(made.report.jobs.size()) +
                                    " of 64 jobs"));
}

BOOST_AUTO_TEST_SUITE_END()
