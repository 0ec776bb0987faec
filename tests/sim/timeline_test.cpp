#include "net/sim/timeline.hpp"

#include "tests/sim/cases.hpp"

#include <boost/test/unit_test.hpp>

namespace perigee::net::timeline_tests {

namespace {

fleet equal_fleet(std::uint32_t count) {
  fleet of{.count = count};
  of.operations_per_second = {10'000'000'000, 10'000'000'000};
  of.latency = {duration{1'000'000}, duration{1'000'000}};
  of.link_bytes_per_second = {125'000'000, 125'000'000};
  return of;
}

std::string drawn(std::uint32_t stages, schedule_kind schedule) {
  const model_profile m = cases::even_model(4, 2);
  job_record job = cases::job_of(m, 3);
  job.wanted.stages = stages;
  job.wanted.schedule = schedule;
  const auto report = simulate(job, m, equal_fleet(stages), 5);
  BOOST_TEST_REQUIRE(static_cast<bool>(report), (report ? "" : report.why().what));
  const std::string all = timeline(*report, {.width = 60, .step = 1});
  // The rows alone.
  const auto first = all.find("p1     |");
  return all.substr(first, all.find("p1      12 micro-batches") - first);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(timeline)

BOOST_AUTO_TEST_CASE(a_pipeline_is_seen_to_fill_and_drain) {
  BOOST_TEST(drawn(2, schedule_kind::one_f_one_b) ==
             "p1     |0001111.........aaaaaaa2222bbbbbbb3333..ccccccc....ddddddd+*| "
             "stage 0, busy 73 %\n"
             "p2     |....0000aaaaaaa1111bbbbbbb..2222ccccccc3333ddddddd+........*| "
             "stage 1, busy 75 %\n");
  BOOST_TEST(drawn(2, schedule_kind::gpipe) ==
             "p1     |00011112222333..............aaaaaaa.bbbbbbbccccccccddddddd+*| "
             "stage 0, busy 75 %\n"
             "p2     |....000011112222333aaaaaaaabbbbbbbbcccccccdddddddd+........*| "
             "stage 1, busy 77 %\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::net::timeline_tests
