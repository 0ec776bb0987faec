// The planner beside other planners, beside plain enumeration, and on large fleets.
#include "planner/plan/label_search.hpp"
#include "planner/plan/local_search.hpp"
#include "planner/plan/repair.hpp"
#include "tests/bench/baselines.hpp"
#include "tests/bench/groups.hpp"
#include "tests/bench/measure.hpp"
#include "tests/planner/fleets.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace perigee::bench {

namespace {

using planner::granularity;

// ---- planning time and round time beside the exact HPP dynamic programme ----------------------

constexpr double bytes_per_second = 125e6;

/// Blocks of seven layers, as a transformer's graph has them, or stages of growing width and
/// shrinking images: what differs is how even work, boundaries and gradients are.
chain_setting setting(std::uint32_t layers, std::uint32_t devices, std::uint64_t seed) {
  random r(seed, purpose::simulation, 5);
  const bool even = layers == 101;
  chain_setting s;
  s.rounds = 4;
  s.samples = even ? 80 : 60;
  for (std::uint32_t l = 0; l < layers; ++l) {
    const double depth = static_cast<double>(l) / layers;
    const double work = 1e-5 * static_cast<double>(planner::instances::between(r, 20, 200));
    const double wide = even ? 96e3 : 800e3 * std::pow(0.12, depth);
    const double weights = even ? 250e3 : 40e3 * std::pow(60.0, depth);
    s.forward.push_back(work);
    s.backward.push_back(2 * work);
    s.boundary.push_back(wide / bytes_per_second);
    s.gradient.push_back(weights / bytes_per_second);
  }
  for (std::uint32_t d = 0; d < devices; ++d)
    s.speed.push_back(static_cast<double>(planner::instances::between(r, 10, 80)) / 10);
  return s;
}

/// The same in our terms: one sample is a micro-batch, a slice is one sample of each round.
struct translated {
  model_profile model;
  std::unique_ptr<planner::fleet> swarm;
};

translated in_our_terms(const chain_setting& s) {
  translated t;
  for (std::size_t l = 0; l < s.forward.size(); ++l) {
    layer_profile layer;
    layer.forward[0] = static_cast<std::uint64_t>(s.forward[l] * 1e9);
    layer.backward[0] = static_cast<std::uint64_t>(s.backward[l] * 1e9);
    layer.gradient = {static_cast<std::uint64_t>(s.gradient[l] * bytes_per_second)};
    if (l > 0) layer.input = t.model.layers[l - 1].output;
    layer.output = {static_cast<std::uint64_t>(s.boundary[l] * bytes_per_second)};
    t.model.layers.push_back(std::move(layer));
  }
  t.model.slice_size = s.rounds;
  t.model.slice_count = s.samples;
  t.model.micro_batch_count = s.rounds * s.samples;
  t.model.micro_batch_samples = 1;
  planner::fleet_description f;
  for (std::size_t d = 0; d < s.speed.size(); ++d) {
    peer_record p;
    p.peer = {d + 1};
    const auto rate = static_cast<std::uint64_t>(s.speed[d] * 1e9);
    p.rate = {rate, rate, rate, std::uint64_t{1} << 60U};
    p.memory_offer = {std::uint64_t{1} << 50U};
    f.peers.push_back(std::move(p));
  }
  f.usual = {duration{}, static_cast<std::uint64_t>(bytes_per_second)};
  t.swarm = std::make_unique<planner::fleet>(f);
  return t;
}

chain_plan as_chain(const planner::outline& cut) {
  chain_plan plan;
  for (const auto& s : cut) {
    plan.push_back({s.layer_first, s.layer_count, {}, {}});
    for (const auto& who : s.group) {
      plan.back().devices.push_back(who.peer);
      plan.back().shares.push_back(who.slices);
    }
  }
  return plan;
}

/// The default tier with shares in samples: labels over two orders, moves, the simulation's word.
chain_plan ours(const chain_setting& s, const translated& t) {
  const planner::planning_space space{&t.model, t.swarm.get(), schedule_kind::one_f_one_b};
  const planner::layer_sums sums(space);
  const planner::estimator with{&space, &sums, granularity::sample, s.rounds};
  std::vector<std::uint32_t> order(s.speed.size());
  for (std::uint32_t d = 0; d < order.size(); ++d) order[d] = d;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return s.speed[a] > s.speed[b]; });
  std::vector<planner::outline> cuts;
  for (int way = 0; way < 2; ++way) {
    planner::label_search labels(with, order, {.labels = 6, .ends = 2, .probes = 8});
    auto found = labels.sweep();
    if (found.size() > 3) found.resize(3);
    cuts.insert(cuts.end(), found.begin(), found.end());
    std::reverse(order.begin(), order.end());
  }
  chain_plan best;
  double least = std::numeric_limits<double>::infinity();
  const auto offer = [&](const planner::outline& cut) {
    auto plan = as_chain(cut);
    const double time = round_time(s, plan);
    if (time >= least) return;
    least = time;
    best = std::move(plan);
  };
  std::stable_sort(cuts.begin(), cuts.end(), [&](const auto& a, const auto& b) {
    return planner::estimate(with, a) < planner::estimate(with, b);
  });
  for (const auto& cut : cuts) offer(cut);
  planner::local_search moves(with, planner::judge::estimate, 400);
  offer(moves.improved(cuts[0]));
  return best;
}

/// Returns the CPU seconds of one call, of as many as make a steady figure.
template <class F>
double seconds_of(const F& call) {
  const double before = cpu_seconds();
  int calls = 0;
  do {
    call();
    ++calls;
  } while (cpu_seconds() - before < 0.02);
  return (cpu_seconds() - before) / calls;
}

void beside_hpp(const teller& tell) {
  double worst = 0;
  for (const std::uint32_t layers : {101U, 176U})
    for (const std::uint32_t devices : {3U, 4U, 6U, 8U, 10U}) {
      const auto s = setting(layers, devices, devices);
      const auto t = in_our_terms(s);
      const double own = seconds_of([&] { static_cast<void>(ours(s, t)); });
      const double tables = seconds_of([&] { static_cast<void>(exact_hpp(s, diligence::tables)); });
      const double plain =
          seconds_of([&] { static_cast<void>(exact_hpp(s, diligence::as_published)); });
      const std::string name =
          "planner, L=" + std::to_string(layers) + " N=" + std::to_string(devices);
      tell({name + ", exact HPP as published / ours, time", plain / own, "x",
            devices == 10  ? 1000.0
            : devices >= 6 ? 97.0
                           : 0.0,
            true});
      tell({name + ", exact HPP with tables / ours, time", tables / own, "x", 0, true});
      const double mine = round_time(s, ours(s, t));
      const double theirs = round_time(s, exact_hpp(s, diligence::tables));
      worst = std::max(worst, mine / theirs);
      if (devices != 10) continue;
      tell({name + ", ours", own * 1e3, "ms", 0, true});
      tell({name + ", round time, ours / exact HPP", mine / theirs, "x", 1, false});
      tell({name + ", round time, ours / equal groups", mine / round_time(s, equal_groups(s)), "x",
            1, false});
      tell({name + ", round time, ours / pipedream", mine / round_time(s, pipedream(s)), "x", 1,
            false});
      tell({name + ", round time, ours / equal layers", mine / round_time(s, equal_layers(s)), "x",
            1, false});
      tell({name + ", round time, ours / data parallel", mine / round_time(s, data_parallel(s)),
            "x", 1, false});
    }
  tell({"planner, round time, ours / exact HPP, worst of all", worst, "x", 1, false});
}

// ---- the gap to plain enumeration -------------------------------------------------------------

struct gap_sum {
  double sum = 0;
  double worst = 0;
  int count = 0;
  int none = 0;  // a plan exists and none was found
  void add(double gap) {
    sum += gap;
    worst = std::max(worst, gap);
    ++count;
  }
};

void gaps(const teller& tell) {
  gap_sum labels;
  gap_sum exact;
  const auto take = [](gap_sum& into, const result<planner::fleet_plan>& made, duration least) {
    if (!made) {
      ++into.none;
      return;
    }
    into.add(static_cast<double>(made->step.total.count()) / static_cast<double>(least.count()) -
             1);
  };
  for (const auto kind : {planner::fleets::family::compute, planner::fleets::family::links,
                          planner::fleets::family::memory})
    for (std::uint64_t seed = 0; seed < 800; ++seed) {
      const auto of = planner::fleets::make(5'000'000 + seed, kind);
      const planner::fleet swarm(of.described);
      const planner::planning_space space{&of.model, &swarm, of.wanted.schedule};
      const duration least = planner::fleets::enumeration(space).least();
      if (least == duration::max()) continue;
      planner::fleet_request request{&of.model, &swarm, &of.wanted, {}, {}};
      take(exact, planner::plan_fleet(request), least);
      request.limits.exact_peers_max = 0;
      take(labels, planner::plan_fleet(request), least);
    }
  tell({"planner, instances enumerated", static_cast<double>(exact.count), "", 2000, true});
  tell({"planner, exact tier, worst gap", exact.worst * 100, "%", 0, false});
  tell({"planner, default tier, mean gap", labels.sum / labels.count * 100, "%", 0.1, false});
  tell({"planner, default tier, worst gap", labels.worst * 100, "%", 2, false});
  tell({"planner, plans missed", static_cast<double>(exact.none + labels.none), "", 0, false});
}

// ---- large fleets -----------------------------------------------------------------------------

struct large {
  model_profile model;
  std::unique_ptr<planner::fleet> swarm;
  wishes wanted;
};

/// A transformer of so many layers on clusters of fifty peers of four types.
large large_fleet(std::uint32_t peers, std::uint32_t layers) {
  large made;
  random r(9, purpose::simulation, 6);
  for (std::uint32_t l = 0; l < layers; ++l) {
    layer_profile layer;
    layer.forward = {planner::instances::between(r, 300, 500) * 1'000'000, 0, 0, 20'000'000};
    layer.backward = {layer.forward[0] * 2, 0, 0, 40'000'000};
    layer.kernel_count = 6;
    layer.parameters = layer.gradient = {2U << 20U};
    layer.state = {6U << 20U};
    layer.kept = {1U << 20U};
    layer.input = {256U << 10U};
    layer.output = {l + 1 == layers ? 0 : 256U << 10U};
    made.model.layers.push_back(std::move(layer));
  }
  made.model.micro_batch_count = 256;
  made.model.slice_size = 32;
  made.model.slice_count = 8;
  made.model.micro_batch_samples = 1;
  planner::fleet_description f;
  constexpr std::uint64_t types[] = {4, 8, 12, 24};
  for (std::uint32_t p = 0; p < peers; ++p) {
    peer_record record;
    record.peer = {p + 1};
    record.memory_offer = {std::uint64_t{2} << 30U};
    const std::uint64_t rate = types[r.below(4)] * 1'000'000'000;
    record.rate = {rate, rate, rate / 4, 8'000'000'000};
    f.peers.push_back(std::move(record));
  }
  made.swarm = std::make_unique<planner::fleet>(f);
  return made;
}

void large_fleets(const teller& tell) {
  for (const auto& [peers, layers, target] :
       {std::tuple{100U, 200U, 0.0}, std::tuple{1000U, 500U, 1.0}}) {
    const auto of = large_fleet(peers, layers);
    const planner::fleet_request request{&of.model, of.swarm.get(), &of.wanted, {}, {}};
    const double before = cpu_seconds();
    const auto made = planner::plan_fleet(request);
    const double took = cpu_seconds() - before;
    const std::string name =
        "planner, " + std::to_string(peers) + " peers, " + std::to_string(layers) + " layers";
    tell({name + ", plan", took, "s", target, target == 0});
    if (!made) continue;
    tell({name + ", certified gap", static_cast<double>(planner::gap_permille(*made)) / 10, "%", 15,
          false});
    const planner::planning_space space{&of.model, of.swarm.get(), of.wanted.schedule};
    const planner::layer_sums sums(space);
    const planner::estimator with{&space, &sums, granularity::slice, 0};
    const auto cut = planner::outline_of(*of.swarm, made->chosen);
    std::vector<double> times;
    double worst = 0;
    for (std::size_t i = 0; i < 21; ++i) {
      const auto& use = made->step.uses[i * made->step.uses.size() / 21];
      const auto gone = of.swarm->position_of(use.peer);
      const double start = cpu_seconds();
      const auto mended = planner::repaired(with, cut, gone);
      times.push_back(cpu_seconds() - start);
      if (!mended) continue;
      worst = std::max(worst, static_cast<double>(planner::estimate(with, *mended)) /
                                  static_cast<double>(planner::estimate(with, cut)));
    }
    tell({name + ", repair after one departure, median", median(times) * 1e3, "ms",
          peers == 100 ? 1.0 : 5.0, false});
    tell({name + ", step after / before, worst of 21", worst, "x", 1.1, false});
  }
}

}  // namespace

result<void> planner_bench(const teller& tell) {
  beside_hpp(tell);
  gaps(tell);
  large_fleets(tell);
  return {};
}

}  // namespace perigee::bench
