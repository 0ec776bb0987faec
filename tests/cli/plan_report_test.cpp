#include "actors/cli/plan_report.hpp"

#include "tests/planner/fleets.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

namespace perigee::actors::plan_report_tests {

namespace {

struct planned {
  planner::fleets::instance of = planner::fleets::make(7, planner::fleets::family::compute);
  planner::fleet swarm{of.described};
  planner::fleet_request request{&of.model, &swarm, &of.wanted, {}, {}};
  planner::fleet_plan made = *planner::plan_fleet(request);
};

}  // namespace

BOOST_AUTO_TEST_SUITE(plan_report)

BOOST_AUTO_TEST_CASE(the_table_has_a_line_for_each_share) {
  const planned p;
  const std::string table = plan_table(p.request, p.made);
  for (const auto& use : p.made.step.uses)
    BOOST_TEST(table.find("  " + text(use.peer) + " ") != std::string::npos);
  BOOST_TEST(table.find("gap at most 0.0 %") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_parts_of_a_step_add_up) {
  const planned p;
  const auto parts = planner::parts_of(p.request, p.made);
  BOOST_TEST(
      (parts.compute + parts.warm_up + parts.links + parts.reduction + parts.update).count() ==
      p.made.step.total.count());
}

BOOST_AUTO_TEST_CASE(the_json_object_says_the_same) {
  const planned p;
  const auto j = nlohmann::json::parse(plan_json(p.request, p.made));
  BOOST_TEST(j["tier"] == "exact");
  BOOST_TEST(j["shares"].size() == p.made.step.uses.size());
  BOOST_TEST(j["shares"].size() + j["idle"].size() == p.swarm.size());
}

BOOST_AUTO_TEST_CASE(the_budget_table_begins_with_no_more_work_for_each_stage) {
  const planned p;
  const std::string table = budget_table(p.request, p.made);
  std::size_t without = 0;
  for (std::size_t at = 0; (at = table.find(" 0.0 %\n", at)) != std::string::npos; ++at) ++without;
  BOOST_TEST(without >= p.made.chosen.stages.size());
}

BOOST_AUTO_TEST_CASE(the_picture_escapes_names_and_draws_every_pass) {
  planned p;
  p.of.described.peers[0].name = "a<b&c";
  p.swarm = planner::fleet(p.of.described);
  const std::string picture = plan_svg(p.request, p.made);
  BOOST_TEST(picture.starts_with("<svg"));
  BOOST_TEST(picture.ends_with("</svg>\n"));
  BOOST_TEST(picture.find("a<b") == std::string::npos);
  std::size_t passes = 0;
  for (std::size_t at = 0; (at = picture.find("stroke-width=\"0.6\"", at)) != std::string::npos;
       ++at)
    ++passes;
  BOOST_TEST(passes == 2 * p.of.model.micro_batch_count * p.made.chosen.stages.size());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::actors::plan_report_tests
