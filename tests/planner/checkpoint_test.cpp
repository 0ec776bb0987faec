#include "planner/plan/checkpoint.hpp"

#include "proto/base/random.hpp"

#include <boost/test/unit_test.hpp>

#include <set>

namespace perigee::planner::checkpoint_tests {

namespace {

/// Layers of 1 ns forward, 2 ns backward, 1 B boundaries and 2 B kept.
std::vector<chain_layer> uniform(std::size_t count) {
  return std::vector<chain_layer>(count, {duration{1}, duration{2}, {1}, {1}, {2}, {0}});
}

std::vector<chain_layer> drawn(std::uint64_t seed) {
  random r(seed, purpose::simulation, 3);
  std::vector<chain_layer> layers(2 + r.below(7));
  for (std::size_t l = 0; l < layers.size(); ++l) {
    chain_layer& at = layers[l];
    at.forward = duration{static_cast<duration::rep>(1 + r.below(20))};
    at.backward = at.forward * 2;
    at.input = l == 0 ? bytes{1 + r.below(5)} : layers[l - 1].output;
    at.output = {1 + r.below(5)};
    at.saved = at.output + bytes{r.below(9)};
    at.transient = {r.below(3)};
  }
  return layers;
}

struct outcome {
  duration time{};
  std::uint64_t peak = 0;
  bool sound = true;  // every pass found what it needs, backward passes came last to first
};

/// Does a sequence on sets of kept boundaries and activations.
outcome done(const std::vector<chain_layer>& layers, const std::vector<chain_action>& actions) {
  outcome o;
  std::set<std::uint32_t> inputs{0};
  std::set<std::uint32_t> saved;
  auto next = static_cast<std::uint32_t>(layers.size());
  for (const auto& [what, l] : actions) {
    if (what == chain_pass::backward) {
      o.sound = o.sound && l + 1 == next && saved.erase(l) == 1;
      o.time += layers[l].backward;
      next = l;
      inputs.erase(inputs.lower_bound(l), inputs.end());
      inputs.insert(0);
      continue;
    }
    o.sound = o.sound && (inputs.contains(l) || saved.contains(l - 1));
    o.time += layers[l].forward;
    if (what == chain_pass::forward_all) {
      saved.insert(l);
    } else {
      inputs.insert(l + 1);
    }
    std::uint64_t now = layers[next - 1].output.count + layers[l].transient.count;
    for (const auto k : inputs)
      if (k > 0) now += layers[k].input.count;
    for (const auto k : saved) now += layers[k].saved.count;
    o.peak = std::max(o.peak, now);
    if (what == chain_pass::forward_only) inputs.erase(l);
  }
  o.sound = o.sound && next == 0;
  return o;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(checkpoint)

BOOST_AUTO_TEST_CASE(with_room_for_all_nothing_is_done_twice) {
  const checkpoint_table table(uniform(6), {100}, 100);
  BOOST_TEST(table.time({100})->count() == 6 * 3);
  BOOST_TEST(table.sequence({100})->size() == 12U);
}

BOOST_AUTO_TEST_CASE(two_layers_of_which_one_is_dropped_run_one_forward_pass_more) {
  // Kept both: 2 + 2 and a gradient. Less: the input of the second, 1, then its 2 and a gradient.
  const checkpoint_table table(uniform(2), {10}, 10);
  BOOST_TEST(table.time({5})->count() == 6);
  BOOST_TEST(table.time({4})->count() == 7);
  BOOST_TEST(!table.time({3}).has_value());
  BOOST_TEST(table.least()->count == 4U);
}

BOOST_AUTO_TEST_CASE(less_memory_never_takes_less_time) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const checkpoint_table table(drawn(seed), {120}, 120);
    std::optional<duration> before;
    for (std::uint64_t budget = 0; budget <= 120; ++budget) {
      const auto now = table.time({budget});
      if (before) BOOST_TEST((now && *now <= *before));
      before = now;
    }
  }
}

BOOST_AUTO_TEST_CASE(a_sequence_is_sound_takes_the_time_and_stays_within_its_budget) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto layers = drawn(seed);
    const checkpoint_table table(layers, {120}, 120);
    for (std::uint64_t budget = 1; budget <= 120; budget += 3) {
      const auto actions = table.sequence({budget});
      if (!actions) continue;
      const outcome o = done(layers, *actions);
      BOOST_TEST_CONTEXT("seed " << seed << ", budget " << budget) {
        BOOST_TEST(o.sound);
        BOOST_TEST(o.time.count() == table.time({budget})->count());
        BOOST_TEST(o.peak <= budget);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::planner::checkpoint_tests
