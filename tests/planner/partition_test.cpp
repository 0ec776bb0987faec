#include "planner/plan/partition.hpp"

#include "proto/stage_memory.hpp"
#include "tests/planner/instances.hpp"

#include <boost/test/unit_test.hpp>

#include <numeric>

namespace perigee::planner::partition_tests {

namespace {

using instances::between;

/// Wishes of which a test names only some.
struct ask {
  std::uint32_t stages = 0;
  std::vector<std::uint32_t> replicas = {};
  std::vector<std::uint32_t> shares = {};
  std::vector<peer_id> order = {};
  schedule_kind schedule = schedule_kind::one_f_one_b;

  operator wishes() const { return {"", stages, replicas, shares, order, schedule}; }
};

/// Every plan of a number of stages by plain enumeration; keeps the least bottleneck.
class enumeration {
public:
  enumeration(const planning_input& input, std::uint32_t stages, std::uint32_t workers)
      : input_(input), stages_(stages) {
    for (peer_record& record : input_.peers) record.workers = std::min(record.workers, workers);
    p_.schedule = input.wanted->schedule;
    next_stage(0, 0);
  }
  [[nodiscard]] duration least() const { return least_; }

private:
  void next_stage(std::uint32_t layer, std::size_t peer) {
    const auto layers = static_cast<std::uint32_t>(input_.model->layers.size());
    if (p_.stages.size() == stages_) {
      if (layer == layers) judge();
      return;
    }
    for (std::uint32_t end = layer + 1; end <= layers; ++end) {
      p_.stages.push_back({layer, end - layer, 1, {}});
      next_member(end, peer, 0);
      p_.stages.pop_back();
    }
  }

  void next_member(std::uint32_t layer_end, std::size_t peer, std::uint32_t slice) {
    if (slice == input_.model->slice_count) return next_stage(layer_end, peer);
    for (std::size_t p = peer; p < input_.peers.size(); ++p) {
      for (std::uint32_t k = 1; slice + k <= input_.model->slice_count; ++k) {
        const peer_record& record = input_.peers[p];
        p_.stages.back().group.push_back({record.peer, slice, k, record.workers});
        next_member(layer_end, p + 1, slice + k);
        p_.stages.back().group.pop_back();
      }
    }
  }

  void judge() {
    plan p = p_;
    for (std::uint32_t s = 0; s < stages_; ++s) {
      std::uint32_t longest = 0;
      for (const member& m : p.stages[s].group) {
        longest = std::max(longest, busiest_lane(*input_.model, m));
      }
      const bool all = p.schedule == schedule_kind::gpipe;
      p.stages[s].in_flight_max = all ? longest : std::min(longest, stages_ - s);
    }
    for (const peer_record& record : input_.peers) {
      const place at = place_of(p, record.peer);
      if (at.stage == stages_) continue;
      if (stage_memory(*input_.model, p, at) > record.memory_offer) return;
    }
    least_ = std::min(least_, cost_of(*input_.model, p, input_.peers, input_.link).bottleneck);
  }

  planning_input input_;
  std::uint32_t stages_;
  plan p_;
  duration least_ = duration::max();
};

struct instance {
  model_profile model;
  wishes wanted;
  planning_input input;
};

/// Some have room for anything, most are so tight that memory decides.
void make(std::uint64_t seed, instance& into) {
  random r(seed, purpose::simulation, 1);
  into.model = instances::model_of(r, static_cast<std::uint32_t>(between(r, 1, 7)));
  const auto peers = static_cast<std::uint32_t>(between(r, 1, 4));
  const bytes offer = {r.below(4) == 0 ? 1ULL << 40U : between(r, 200, 4000) * 1024};
  into.input.model = &into.model;
  into.input.wanted = &into.wanted;
  into.input.peers = instances::peers_of(r, peers, offer);
  into.input.link.bytes_per_second = between(r, 1, 100) * 10'000'000;
  into.wanted.schedule = r.below(2) == 0 ? schedule_kind::gpipe : schedule_kind::one_f_one_b;
}

void expect_well_formed(const plan& p, const planning_input& input) {
  std::uint32_t layer = 0;
  std::vector<peer_id> seen;
  for (std::size_t s = 0; s < p.stages.size(); ++s) {
    BOOST_TEST(p.stages[s].layer_first == layer);
    layer += p.stages[s].layer_count;
    std::uint32_t slice = 0;
    for (std::size_t m = 0; m < p.stages[s].group.size(); ++m) {
      const member& who = p.stages[s].group[m];
      BOOST_TEST(who.slice_first == slice);
      BOOST_TEST(who.slice_count > 0U);
      slice += who.slice_count;
      seen.push_back(who.peer);
      const auto at =
          std::find_if(input.peers.begin(), input.peers.end(),
                       [&](const peer_record& record) { return record.peer == who.peer; });
      const place where{static_cast<std::uint32_t>(s), static_cast<std::uint32_t>(m)};
      BOOST_TEST((stage_memory(*input.model, p, where) <= at->memory_offer));
    }
    BOOST_TEST(slice == input.model->slice_count);
  }
  BOOST_TEST(layer == input.model->layers.size());
  std::sort(seen.begin(), seen.end());
  BOOST_TEST((std::adjacent_find(seen.begin(), seen.end()) == seen.end()));
}

/// Six layers of equal work, four slices of two micro-batches.
model_profile even_model() {
  model_profile m;
  for (std::uint32_t l = 0; l < 6; ++l) {
    layer_profile layer;
    layer.forward = {1'000'000, 0, 0, 0};
    layer.backward = {2'000'000, 0, 0, 0};
    layer.parameters = layer.gradient = {64 * 1024};
    layer.state = {128 * 1024};
    layer.kept = {64 * 1024};
    layer.input = {4096};
    layer.output = {l == 5 ? 0U : 4096U};
    m.layers.push_back(layer);
  }
  m.micro_batch_count = 8;
  m.slice_size = 2;
  m.slice_count = 4;
  return m;
}

std::vector<peer_record> equal_peers(std::uint64_t count) {
  std::vector<peer_record> peers(count);
  for (std::uint64_t p = 0; p < count; ++p) {
    peers[p].peer = {p + 1};
    peers[p].memory_offer = {1U << 30U};
    peers[p].rate = {1'000'000'000, 1'000'000'000, 1'000'000'000, 1'000'000'000};
  }
  return peers;
}

std::string planned(const ask& asked, std::uint64_t peers) {
  const wishes wanted = asked;
  const model_profile m = even_model();
  planning_input input;
  input.model = &m;
  input.wanted = &wanted;
  input.peers = equal_peers(peers);
  const auto p = partition(input);
  return p ? text(*p) : std::string(text(p.why().code)) + ": " + p.why().what;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(partition)

BOOST_AUTO_TEST_CASE(the_bottleneck_is_the_least_of_all_plans) {
  std::uint32_t fitting = 0;
  std::uint32_t short_of_memory = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    instance i;
    make(seed, i);
    const std::size_t most = std::min(i.model.layers.size(), i.input.peers.size());
    i.wanted.stages = static_cast<std::uint32_t>(1 + seed % most);
    const auto p = planner::partition(i.input);
    duration least = duration::max();
    // Fewer lanes need less memory: the partitioner tries them when nothing else fits.
    std::uint32_t workers = 1;
    for (const peer_record& record : i.input.peers) workers = std::max(workers, record.workers);
    workers = std::min(workers, i.model.slice_count);
    for (;; workers = (workers + 1) / 2) {
      least = enumeration(i.input, i.wanted.stages, workers).least();
      if (least != duration::max() || workers == 1) break;
    }
    BOOST_TEST_CONTEXT("seed " << seed) {
      BOOST_TEST(static_cast<bool>(p) == (least != duration::max()));
      if (!p || least == duration::max()) {
        ++short_of_memory;
        continue;
      }
      ++fitting;
      BOOST_TEST(cost_of(i.model, *p, i.input.peers, i.input.link).bottleneck.count() ==
                 least.count());
      expect_well_formed(*p, i.input);
    }
  }
  BOOST_TEST(fitting > 200U);
  BOOST_TEST(short_of_memory > 50U);
}

BOOST_AUTO_TEST_CASE(no_other_number_of_stages_promises_a_shorter_step) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    instance i;
    make(seed, i);
    i.input.memory.clear();
    for (peer_record& record : i.input.peers) record.memory_offer = {1ULL << 40U};
    const auto free = planner::partition(i.input);
    BOOST_TEST_REQUIRE(static_cast<bool>(free));
    for (std::uint32_t s = 1; s <= std::min(i.model.layers.size(), i.input.peers.size()); ++s) {
      i.wanted.stages = s;
      const auto fixed = planner::partition(i.input);
      BOOST_TEST_REQUIRE(static_cast<bool>(fixed));
      BOOST_TEST_CONTEXT("seed " << seed) {
        BOOST_TEST(free->predicted_step.count() <= fixed->predicted_step.count());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(the_order_of_the_input_does_not_matter) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    instance i;
    make(seed, i);
    const auto first = planner::partition(i.input);
    std::reverse(i.input.peers.begin(), i.input.peers.end());
    std::rotate(i.input.peers.begin(), i.input.peers.begin() + 1, i.input.peers.end());
    const auto second = planner::partition(i.input);
    BOOST_TEST_REQUIRE(static_cast<bool>(first) == static_cast<bool>(second));
    if (first) BOOST_TEST((*first == *second));
    if (!first) BOOST_TEST(first.why().what == second.why().what);
  }
}

BOOST_AUTO_TEST_CASE(the_missing_bytes_are_the_fewest_that_would_do) {
  std::uint32_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    instance i;
    make(seed, i);
    const auto p = planner::partition(i.input);
    if (p) continue;
    ++refused;
    const std::string& why = p.why().what;
    const auto at = why.find("short by ") + 9;
    const std::uint64_t missing = std::stoull(why.substr(at));
    BOOST_TEST_CONTEXT("seed " << seed << ": " << why) {
      for (peer_record& record : i.input.peers) record.memory_offer += bytes{missing};
      BOOST_TEST(static_cast<bool>(planner::partition(i.input)));
      for (peer_record& record : i.input.peers) --record.memory_offer.count;
      BOOST_TEST(!planner::partition(i.input));
    }
  }
  BOOST_TEST(refused > 10U);
}

BOOST_AUTO_TEST_CASE(wishes_are_honoured) {
  BOOST_TEST(planned({.stages = 4}, 4) ==
             "epoch 0, 1f1b: layer 0 on p1 (slices 0-3) | layer 1 on p2 (slices 0-3) | "
             "layers 2-3 on p3 (slices 0-3) | layers 4-5 on p4 (slices 0-3)");
  BOOST_TEST(planned({.stages = 2, .replicas = {2}, .schedule = schedule_kind::gpipe}, 4) ==
             "epoch 0, gpipe: layers 0-2 on p1 (slices 0-1) + p2 (slices 2-3) | "
             "layers 3-5 on p3 (slices 0-1) + p4 (slices 2-3)");
  BOOST_TEST(planned({.replicas = {1, 3}}, 4) ==
             "epoch 0, 1f1b: layers 0-1 on p1 (slices 0-3) | "
             "layers 2-5 on p2 (slice 0) + p3 (slice 1) + p4 (slices 2-3)");
  BOOST_TEST(planned({.shares = {3, 1, 4}}, 4) ==
             "epoch 0, 1f1b: layers 0-2 on p1 (slices 0-2) + p2 (slice 3) | "
             "layers 3-5 on p3 (slices 0-3)");
  BOOST_TEST(planned({.stages = 2, .shares = {3, 1}, .order = {{4}, {2}}}, 4) ==
             "epoch 0, 1f1b: layers 0-2 on p4 (slices 0-2) + p2 (slice 3) | "
             "layers 3-5 on p1 (slices 0-2) + p3 (slice 3)");
}

BOOST_AUTO_TEST_CASE(a_wish_that_cannot_be_met_is_named) {
  BOOST_TEST(planned({.stages = 7}, 8) == "infeasible: 7 stages asked, the model has 6 layers");
  BOOST_TEST(planned({.stages = 4, .replicas = {2}}, 4) ==
             "infeasible: 4 stages of 2 replicas need 8 peers, there are 4");
  BOOST_TEST(planned({.replicas = {2, 1, 2}}, 4) ==
             "infeasible: 3 stages of 2, 1 and 2 replicas need 5 peers, there are 4");
  BOOST_TEST(planned({.stages = 3}, 1) == "infeasible: 3 stages need 3 peers, there is 1");
  BOOST_TEST(planned({.replicas = {3}}, 2) == "infeasible: 3 replicas need 3 peers, there are 2");
  BOOST_TEST(planned({.stages = 1, .replicas = {3}}, 2) ==
             "infeasible: 1 stage of 3 replicas needs 3 peers, there are 2");
  BOOST_TEST(planned({.replicas = {5}}, 9) ==
             "infeasible: 5 replicas asked but a mini-batch has 4 slices");
  BOOST_TEST(planned({.replicas = {0}}, 9) == "infeasible: 0 replicas asked");
  BOOST_TEST(planned({.stages = 3, .replicas = {1, 2}}, 9) ==
             "infeasible: 2 replica counts and 3 stages asked");
  BOOST_TEST(planned({}, 0) == "infeasible: there are no peers");
}

BOOST_AUTO_TEST_CASE(shares_that_do_not_add_up_are_named) {
  BOOST_TEST(planned({.shares = {3, 2}}, 4) ==
             "infeasible: shares 3 and 2 of stage 0 add up to 5, a mini-batch has 4 slices");
  BOOST_TEST(planned({.shares = {4, 3}}, 4) ==
             "infeasible: share 3 of stage 1 is 3, a mini-batch has 4 slices");
  BOOST_TEST(planned({.shares = {4, 0}}, 4) == "infeasible: a share of 0 slices asked");
  BOOST_TEST(planned({.stages = 3, .shares = {4, 2, 2}}, 4) ==
             "infeasible: shares for 2 stages and 3 stages asked");
  BOOST_TEST(planned({.replicas = {1, 1}, .shares = {4, 2, 2}}, 4) ==
             "infeasible: 2 shares for stage 1 and 1 replica asked");
}

BOOST_AUTO_TEST_CASE(an_order_that_cannot_be_is_named) {
  BOOST_TEST(planned({.order = {{2}, {2}}}, 3) == "infeasible: the order names p2 twice");
  BOOST_TEST(planned({.order = {{2}, {9}}}, 3) ==
             "infeasible: the order names p9, who is not here");
}

BOOST_AUTO_TEST_CASE(who_is_short_of_memory_is_named) {
  const model_profile m = even_model();
  const wishes w = ask{.stages = 2};
  planning_input input;
  input.model = &m;
  input.wanted = &w;
  input.peers = equal_peers(2);
  input.memory = {{peer_id{2}, bytes{256 * 1024}}};

  const auto p = planner::partition(input);

  BOOST_TEST_REQUIRE(!p);
  BOOST_TEST((p.why().code == errc::infeasible));
  BOOST_TEST(p.why().what ==
             "no plan fits: p2 would need 596.0 KiB for its smallest share and offers 256.0 KiB: "
             "short by 348160 B; offer more memory, add peers, or use a smaller micro_batch");
}

BOOST_AUTO_TEST_CASE(fewer_lanes_are_used_where_memory_is_short) {
  const model_profile m = even_model();
  const wishes w = ask{.stages = 1};
  planning_input input;
  input.model = &m;
  input.wanted = &w;
  input.peers = equal_peers(1);
  input.peers[0].workers = 4;
  plan lanes;
  lanes.stages = {{0, 6, 1, {{peer_id{1}, 0, 4, 2}}}};
  input.peers[0].memory_offer = stage_memory(m, lanes, {0, 0});

  const auto p = planner::partition(input);

  BOOST_TEST_REQUIRE(static_cast<bool>(p));
  BOOST_TEST(p->stages[0].group[0].workers == 2U);
}

BOOST_AUTO_TEST_CASE(a_peer_without_a_speed_is_left_out_or_waited_for) {
  const model_profile m = even_model();
  wishes w;
  planning_input input;
  input.model = &m;
  input.wanted = &w;
  input.peers = equal_peers(3);
  input.peers[1].rate = {};
  const auto p = planner::partition(input);
  BOOST_TEST_REQUIRE(static_cast<bool>(p));
  BOOST_TEST(place_of(*p, {2}).stage == p->stages.size());
  w.stages = 3;
  const auto waiting = planner::partition(input);
  BOOST_TEST_REQUIRE(!waiting);
  BOOST_TEST((waiting.why().code == errc::unavailable));
  BOOST_TEST(waiting.why().what == "p2 has not measured its speed yet");
}

BOOST_AUTO_TEST_CASE(a_slow_peer_is_left_idle) {
  const model_profile m = even_model();
  const wishes w;
  planning_input input;
  input.model = &m;
  input.wanted = &w;
  input.peers = equal_peers(2);
  input.peers[1].rate = {1'000'000, 1'000'000, 1'000'000, 1'000'000};
  const auto p = planner::partition(input);
  BOOST_TEST_REQUIRE(static_cast<bool>(p));
  BOOST_TEST(text(*p) == "epoch 0, 1f1b: layers 0-5 on p1 (slices 0-3)");
}

BOOST_AUTO_TEST_CASE(of_a_crowd_the_fastest_are_planned) {
  const model_profile m = even_model();
  const wishes w;
  planning_input input;
  input.model = &m;
  input.wanted = &w;
  input.peers = equal_peers(1000);
  for (std::size_t p = 0; p < 980; ++p) input.peers[p].rate[0] /= 2;
  const auto p = planner::partition(input);
  BOOST_TEST_REQUIRE(static_cast<bool>(p));
  for (const peer_id who : participants(*p)) BOOST_TEST(who.value > 980U);
}

BOOST_AUTO_TEST_CASE(many_slices_are_poured_over_the_speeds) {
  model_profile m = even_model();
  m.micro_batch_count = 64;
  m.slice_size = 1;
  m.slice_count = 64;
  const wishes w = ask{.stages = 1, .replicas = {4}};
  planning_input input;
  input.model = &m;
  input.wanted = &w;
  input.peers = equal_peers(8);
  for (std::size_t p = 0; p < 8; ++p) input.peers[p].rate[0] *= p % 4 == 0 ? 3 : 1;
  const auto p = planner::partition(input);
  BOOST_TEST_REQUIRE(static_cast<bool>(p));
  BOOST_TEST(text(*p) ==
             "epoch 0, 1f1b: layers 0-5 on p1 (slices 0-32) + p2 (slices 33-43) + "
             "p3 (slices 44-53) + p4 (slices 54-63)");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::planner::partition_tests
