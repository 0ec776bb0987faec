#include "planner/plan/partition.hpp"

#include "planner/plan/chain_search.hpp"
#include "proto/base/check.hpp"
#include "proto/stage_memory.hpp"

#include <algorithm>
#include <optional>

namespace perigee::planner {

namespace {

error infeasible(std::string what) { return {errc::infeasible, std::move(what)}; }

bool calibrated(const peer_record& record) {
  return std::any_of(record.rate.begin(), record.rate.end(), [](auto rate) { return rate > 0; });
}

/// Returns the peers in the order in which stages take them: the named ones, then the others by id.
result<std::vector<peer_record>> in_order(const planning_input& input) {
  std::vector<peer_record> peers = input.peers;
  std::sort(peers.begin(), peers.end(),
            [](const peer_record& a, const peer_record& b) { return a.peer < b.peer; });
  auto placed = peers.begin();
  for (const peer_id who : input.wanted->order) {
    const auto is_who = [who](const peer_record& record) { return record.peer == who; };
    if (std::any_of(peers.begin(), placed, is_who)) {
      return infeasible("the order names " + text(who) + " twice");
    }
    const auto at = std::find_if(placed, peers.end(), is_who);
    if (at == peers.end()) return infeasible("the order names " + text(who) + ", who is not here");
    std::rotate(placed, at, at + 1);
    ++placed;
  }
  for (peer_record& record : peers) {
    record.workers = std::max(record.workers, 1U);
    for (const memory_limit& limit : input.memory) {
      if (limit.peer == record.peer) record.memory_offer = limit.offer;
    }
  }
  return peers;
}

/// Leaves out who has no speed yet; fails if too few are left for the shape.
result<void> leave_out_uncalibrated(const plan_shape& shape, std::vector<peer_record>& peers) {
  const std::size_t needed = peers_needed(shape);
  const std::size_t all = peers.size();
  const auto first = std::stable_partition(peers.begin(), peers.end(), calibrated);
  std::string waiting;
  for (auto p = first; p != peers.end(); ++p)
    waiting += (waiting.empty() ? "" : ", ") + text(p->peer);
  peers.erase(first, peers.end());
  if (peers.size() >= needed) return {};
  if (all >= needed) {
    return error{errc::unavailable, waiting + (all - peers.size() == 1 ? " has" : " have") +
                                        " not measured its speed yet"};
  }
  if (needed == 1) return infeasible("there are no peers");
  return infeasible(need_text(shape) + ", there " +
                    (all == 1 ? "is 1" : "are " + std::to_string(all)));
}

/// Keeps the `count` peers that would do the whole model soonest, in their order.
void keep_fastest(const model_profile& model, std::size_t count, std::vector<peer_record>& peers) {
  if (peers.size() <= count) return;
  const auto layers = static_cast<std::uint32_t>(model.layers.size());
  std::vector<std::pair<duration, peer_id>> speeds;
  for (const peer_record& record : peers) {
    speeds.emplace_back(layers_time(model, 0, layers, record.rate).both() / record.workers,
                        record.peer);
  }
  auto sorted = speeds;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(count),
                   sorted.end());
  const auto limit = sorted[count];
  std::vector<peer_record> kept;
  for (std::size_t p = 0; p < peers.size(); ++p) {
    if (speeds[p] < limit) kept.push_back(std::move(peers[p]));
  }
  peers = std::move(kept);
}

/// Returns how many peers may be looked at for a model.
std::size_t peers_looked_at(const model_profile& model, const plan_shape& shape) {
  const std::uint64_t layers = model.layers.size();
  std::uint64_t count = limits::planned_peers_max;
  while (count > 1 && layers * layers * count * count * count > limits::planned_work_max) --count;
  return std::max<std::size_t>(count, peers_needed(shape));
}

struct range {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

/// Returns the numbers of stages that the shape and the peers leave open.
range stage_counts(const chain_problem& problem) {
  if (problem.shape.stages > 0) return {problem.shape.stages, problem.shape.stages};
  const std::size_t group = problem.shape.sizes.empty() ? 1 : problem.shape.sizes[0];
  return {1, static_cast<std::uint32_t>(
                 std::min(problem.model->layers.size(), problem.peers.size() / group))};
}

std::optional<plan> search(const planning_input& input, const chain_problem& problem) {
  chain_search chain(problem);
  std::optional<plan> best;
  const range stages = stage_counts(problem);
  for (std::uint32_t count = stages.first; count <= stages.last; ++count) {
    auto made = chain.best(count);
    if (!made) continue;
    plan p{.job = input.job,
           .epoch = input.epoch,
           .schedule = problem.schedule,
           .stages = std::move(*made)};
    p.predicted_step = cost_of(*problem.model, p, problem.peers, problem.link).total;
    if (!best || p.predicted_step < best->predicted_step) best = std::move(p);
    if (problem.any) break;
  }
  return best;
}

void cap_workers(std::uint32_t most, std::vector<peer_record>& peers) {
  for (peer_record& record : peers) record.workers = std::min(record.workers, most);
}

/// Says which peer is short by how many bytes in the plan that is short by the fewest.
error shortage(const planning_input& input, chain_problem problem) {
  problem.any = true;
  std::uint64_t low = 0;  // does not do
  std::uint64_t high = std::uint64_t{1} << 40U;
  const auto with = [&](std::uint64_t extra) {
    problem.extra = {extra};
    return search(input, problem);
  };
  std::optional<plan> least = with(high);
  while (!least && high < std::uint64_t{1} << 56U) {
    low = high;
    high *= 256;
    least = with(high);
  }
  CHECK(least.has_value());
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (auto made = with(middle)) {
      least = std::move(made);
      high = middle;
    } else {
      low = middle;
    }
  }
  for (const peer_record& record : problem.peers) {
    const place where = place_of(*least, record.peer);
    if (where.stage == least->stages.size()) continue;
    const bytes needed = stage_memory(*problem.model, *least, where);
    if (needed.count != record.memory_offer.count + high) continue;
    return infeasible("no plan fits: " + text(record.peer) + " would need " + text(needed) +
                      " for its smallest share and offers " + text(record.memory_offer) +
                      ": short by " + std::to_string(high) +
                      " B; offer more memory, add peers, or use a smaller micro_batch");
  }
  check_failed(__FILE__, __LINE__, "the least shortage is some peer's");
}

}  // namespace

result<plan> partition(const planning_input& input) {
  CHECK(input.model != nullptr && input.wanted != nullptr);
  const model_profile& model = *input.model;
  CHECK(!model.layers.empty() && model.slice_count > 0 && model.micro_batch_count > 0);
  auto shape = shape_of(*input.wanted, model);
  if (!shape) return shape.why();
  auto peers = in_order(input);
  if (!peers) return peers.why();
  if (auto left = leave_out_uncalibrated(*shape, *peers); !left) return left.why();
  keep_fastest(model, peers_looked_at(model, *shape), *peers);

  chain_problem problem{.model = &model,
                        .peers = std::move(*peers),
                        .shape = std::move(*shape),
                        .schedule = input.wanted->schedule,
                        .link = input.link,
                        .extra = {}};
  std::uint32_t workers = 1;
  for (const peer_record& record : problem.peers) workers = std::max(workers, record.workers);
  workers = std::min(workers, model.slice_count);
  // Each lane has its own slots: where memory is short, fewer lanes may fit.
  for (;; workers = (workers + 1) / 2) {
    cap_workers(workers, problem.peers);
    if (auto made = search(input, problem)) return std::move(*made);
    if (workers == 1) return shortage(input, std::move(problem));
  }
}

}  // namespace perigee::planner
