#include "actors/cli/plan_report.hpp"
#include "planner/plan/checkpoint.hpp"

#include <fmt/core.h>

namespace perigee::actors {

namespace {

constexpr std::uint32_t slots = 200;
constexpr std::size_t layers_max = 128;  // of a stage: the table grows with their cube

std::vector<planner::chain_layer> chain_of(const model_profile& model, const stage& s,
                                           const speed& rate) {
  std::vector<planner::chain_layer> layers;
  for (std::uint32_t l = s.layer_first; l < s.layer_first + s.layer_count; ++l) {
    const layer_profile& from = model.layers[l];
    const auto time = planner::layer_time(from, rate);
    layers.push_back({time.forward, time.backward, from.input, from.output, from.kept + from.output,
                      from.transient});
  }
  return layers;
}

std::string line_of(std::size_t index, const planner::checkpoint_table& table, bytes budget,
                    duration whole) {
  const auto time = table.time(budget);
  if (!time) return {};
  const auto permille = (*time - whole).count() * 1000 / std::max<duration::rep>(whole.count(), 1);
  return fmt::format("{:<6} {:>11} {:>11} {:>7}.{} %\n", index, text(budget), text(*time),
                     permille / 10, permille % 10);
}

}  // namespace

std::string budget_table(const planner::fleet_request& request, const planner::fleet_plan& made) {
  std::string page =
      "What if activations were not all kept (a micro-batch, both passes; real runs keep all "
      "today)\n" +
      fmt::format("{:<6} {:>11} {:>11} {:>11}\n", "stage", "budget", "time", "more work");
  for (std::size_t i = 0; i < made.chosen.stages.size(); ++i) {
    const stage& s = made.chosen.stages[i];
    const auto at = request.swarm->position_of(s.group[0].peer);
    const auto layers = chain_of(*request.model, s, request.swarm->peers()[at].rate);
    if (layers.size() > layers_max) {
      page += fmt::format("{:<6} has more than {} layers\n", i, layers_max);
      continue;
    }
    bytes all;
    duration whole{};
    for (const auto& layer : layers) {
      all += layer.saved + layer.output + layer.transient;
      whole += layer.forward + layer.backward;
    }
    const planner::checkpoint_table table(layers, all, slots);
    for (const std::uint64_t percent : {100U, 60U, 40U, 20U})
      page += line_of(i, table, {all.count / 100 * percent + all.count % 100}, whole);
    if (const auto least = table.least()) page += line_of(i, table, *least, whole);
  }
  return page;
}

}  // namespace perigee::actors
