#include "actors/cli/plan_report.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>

namespace perigee::actors {

namespace {

double seconds(duration time) { return std::chrono::duration<double>(time).count(); }

std::string run_of(std::uint32_t first, std::uint32_t count) {
  return count == 1 ? std::to_string(first) : fmt::format("{}-{}", first, first + count - 1);
}

double rate_of(const planner::fleet_request& request, const planner::fleet_plan& made) {
  const double samples =
      double{1} * request.model->micro_batch_count * request.model->micro_batch_samples;
  return samples / std::max(seconds(made.step.total), 1e-12);
}

std::string head_of(const planner::fleet_request& request, const planner::fleet_plan& made) {
  return fmt::format(
      "{} of {} peers in {} stage{}, {}; a step takes {} ({:.1f} samples/s)\n"
      "search: {}, {} plans looked at; no plan is faster than {}: gap at most {}\n\n",
      made.step.uses.size(), request.swarm->size(), made.chosen.stages.size(),
      made.chosen.stages.size() == 1 ? "" : "s",
      made.chosen.schedule == schedule_kind::gpipe ? "gpipe" : "1f1b", text(made.step.total),
      rate_of(request, made), planner::name_of(made.tier), made.looked_at, text(made.bound),
      gap_text(made));
}

std::string idle_lines(const planner::fleet_request& request, const planner::fleet_plan& made) {
  std::string lines;
  const auto idle = planner::idle_in(request, made);
  std::size_t unexplained = 0;
  for (const auto& one : idle) {
    if (one.why == planner::enough_without) {
      ++unexplained;
    } else {
      lines += fmt::format("{} idles: {}\n", shown_peer(*request.swarm, one.peer), one.why);
    }
  }
  if (unexplained > 0) lines += fmt::format("{} more peers idle\n", unexplained);
  return lines.empty() ? lines : "\n" + lines;
}

}  // namespace

std::string gap_text(const planner::fleet_plan& made) {
  const auto permille = planner::gap_permille(made);
  return fmt::format("{}.{} %", permille / 10, permille % 10);
}

std::string shown_peer(const planner::fleet& swarm, peer_id who) {
  const auto at = swarm.position_of(who);
  if (at == swarm.size() || swarm.peers()[at].name.empty()) return text(who);
  return text(who) + ' ' + swarm.peers()[at].name;
}

std::string plan_table(const planner::fleet_request& request, const planner::fleet_plan& made) {
  std::string page = head_of(request, made);
  page += fmt::format("{:<6} {:<8} {:<20} {:>8} {:>8} {:>6} {:>9} {:>11} {:>11} {:>6}\n", "stage",
                      "layers", "peer", "slices", "workers", "depth", "busy", "memory", "offered",
                      "full");
  for (const auto& use : made.step.uses) {
    const stage& s = made.chosen.stages[use.where.stage];
    const member& who = s.group[use.where.index];
    const auto& record = request.swarm->peers()[request.swarm->position_of(use.peer)];
    page += fmt::format(
        "{:<6} {:<8} {:<20} {:>8} {:>8} {:>6} {:>9} {:>11} {:>11} {:>4} %\n", use.where.stage,
        run_of(s.layer_first, s.layer_count), shown_peer(*request.swarm, use.peer),
        run_of(who.slice_first, who.slice_count), lane_count(who), s.in_flight_max, text(use.busy),
        text(use.reserved), text(record.memory_offer),
        use.reserved.count * 100 / std::max<std::uint64_t>(record.memory_offer.count, 1));
  }
  const auto parts = planner::parts_of(request, made);
  page += fmt::format(
      "\nstep {} = compute {} + warm-up and drain {} + links {} + reduction {} + update {}\n",
      text(made.step.total), text(parts.compute), text(parts.warm_up), text(parts.links),
      text(parts.reduction), text(parts.update));
  return page + idle_lines(request, made);
}

std::string plan_json(const planner::fleet_request& request, const planner::fleet_plan& made) {
  const auto parts = planner::parts_of(request, made);
  nlohmann::json j{{"event", "plan"},
                   {"plan", text(made.chosen)},
                   {"tier", std::string(planner::name_of(made.tier))},
                   {"step_s", seconds(made.step.total)},
                   {"bound_s", seconds(made.bound)},
                   {"gap", static_cast<double>(planner::gap_permille(made)) / 1000},
                   {"samples_per_s", rate_of(request, made)},
                   {"looked_at", made.looked_at},
                   {"parts_s",
                    {{"compute", seconds(parts.compute)},
                     {"warm_up", seconds(parts.warm_up)},
                     {"links", seconds(parts.links)},
                     {"reduction", seconds(parts.reduction)},
                     {"update", seconds(parts.update)}}}};
  j["shares"] = nlohmann::json::array();
  for (const auto& use : made.step.uses) {
    const stage& s = made.chosen.stages[use.where.stage];
    const member& who = s.group[use.where.index];
    j["shares"].push_back({{"peer", use.peer.value},
                           {"stage", use.where.stage},
                           {"layer_first", s.layer_first},
                           {"layer_count", s.layer_count},
                           {"slice_first", who.slice_first},
                           {"slice_count", who.slice_count},
                           {"workers", lane_count(who)},
                           {"depth", s.in_flight_max},
                           {"busy_s", seconds(use.busy)},
                           {"memory", use.reserved.count},
                           {"touched", use.touched.count}});
  }
  j["idle"] = nlohmann::json::array();
  for (const auto& one : planner::idle_in(request, made))
    j["idle"].push_back({{"peer", one.peer.value}, {"why", one.why}});
  return j.dump() + "\n";
}

std::string explanation_text(const planner::explanation& e) {
  std::string page = "What binds\n  " + e.binding + "\n";
  if (!e.cuts.empty()) page += "Why it cuts where it does\n";
  for (const auto& line : e.cuts) page += "  " + line + "\n";
  if (!e.idle.empty()) page += "Who idles\n";
  for (const auto& one : e.idle)
    if (one.why != planner::enough_without)
      page += fmt::format("  {}: {}\n", text(one.peer), one.why);
  page += "What more would give\n";
  for (const auto& line : e.gains) page += "  " + line + "\n";
  return page;
}

}  // namespace perigee::actors
