#include "kernels/stage.hpp"

#include "proto/digest.hpp"
#include "proto/stage_memory.hpp"
#include "tests/support/sequential_run.hpp"
#include "tests/support/small_models.hpp"
#include "tests/support/temporary_folder.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <thread>

namespace perigee::test {

namespace {

using kernels::sabotage;
using kernels::stage_executor;

constexpr std::uint64_t steps = 3;

sequential_run run_of(const small_job& job, const plan& p, sabotage wrong = sabotage::none) {
  return {job.spec, p, [&](peer_id self) {
            auto made = kernels::executor_for(job.spec, p, self, {job.data, nullptr, wrong});
            BOOST_TEST_REQUIRE(bool(made), (made ? "" : made.why().what));
            return std::move(*made);
          }};
}

/// Returns the digest of the whole state after some steps, and the last loss.
std::string trained(const small_job& job, const plan& p, std::uint32_t depth = 1,
                    sabotage wrong = sabotage::none) {
  auto run = run_of(job, p, wrong);
  step_record record;
  for (std::uint64_t s = 0; s < steps; ++s) record = run.step(s, depth);
  BOOST_TEST(record.finite);
  return text(combined(record.layers)) + " loss " + std::to_string(record.loss);
}

std::string trained_alone(const small_job& job) {
  return trained(job, plan_of_one(job.spec, job.layers));
}

/// Cuts `layers` into `stages` runs, uneven if they do not divide.
std::vector<stage_wish> cut(std::uint32_t layers, std::uint32_t stages) {
  std::vector<stage_wish> all(stages);
  for (std::uint32_t i = 0; i < stages; ++i)
    all[i].layers = layers * (i + 1) / stages - layers * i / stages;
  return all;
}

/// Runs 1 to 4 stages, 1 to 3 lanes, and groups that share the slices evenly and unevenly.
void check_all_plans(const small_job& job) {
  const std::string alone = trained_alone(job);
  const std::uint32_t slices = slice_count(job.spec);
  const std::vector<std::vector<std::uint32_t>> groups{
      {slices}, {1, slices - 1}, {slices - 1, 1}, {1, slices - 2, 1}};
  for (std::uint32_t stages = 1; stages <= 4; ++stages) {
    for (std::uint32_t variant = 0; variant < groups.size(); ++variant) {
      const std::uint32_t workers = 1 + (variant + stages) % 3, depth = 1 + variant % 2;
      auto wishes = cut(job.layers, stages);
      for (std::uint32_t i = 0; i < stages; ++i) {
        wishes[i].slices = groups[(variant + i) % groups.size()];
        wishes[i].workers = workers;
        wishes[i].in_flight_max = depth;
      }
      const plan p = plan_of(wishes);
      BOOST_TEST(trained(job, p, depth) == alone, text(p) << ", " << workers << " lanes");
    }
  }
}

/// Runs the passes of a step of a one-peer plan with a thread for each lane.
void pass_at_once(executor& e, const small_job& job, const member& self, std::uint64_t step) {
  std::vector<std::thread> threads;
  for (std::uint32_t lane = 0; lane < lane_count(self); ++lane) {
    threads.emplace_back([&, lane] {
      const slice_range own = slices_of_lane(self, lane);
      const std::uint32_t size = slice_size(job.spec);
      const std::uint32_t end =
          std::min((own.first + own.count) * size, micro_batch_count(job.spec));
      for (std::uint32_t m = own.first * size; m < end; ++m) {
        (void)e.run(lane, {task_kind::forward, step, m, {}});
        (void)e.run(lane, {task_kind::backward, step, m, {}});
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

bytes memory_of(executor& e) { return dynamic_cast<stage_executor&>(e).memory(); }

}  // namespace

BOOST_AUTO_TEST_SUITE(stage)

BOOST_AUTO_TEST_CASE(no_plan_changes_an_mlp) { check_all_plans(small_mlp()); }
BOOST_AUTO_TEST_CASE(no_plan_changes_a_resnet) { check_all_plans(small_resnet()); }
BOOST_AUTO_TEST_CASE(no_plan_changes_a_gpt) { check_all_plans(small_gpt()); }
BOOST_AUTO_TEST_CASE(no_plan_changes_a_model_whose_skips_cross_every_cut) {
  const temporary_folder folder;
  const small_job job = small_skips(folder.file("skips.onnx"));
  const auto profile = kernels::profile_of(job.spec, job.data->info());
  BOOST_TEST_REQUIRE(bool(profile), (profile ? "" : profile.why().what));
  BOOST_TEST_REQUIRE(profile->layers.size() == job.layers);
  check_all_plans(job);
}

BOOST_AUTO_TEST_CASE(lanes_that_run_at_once_give_the_same_answer) {
  for (const small_job& job : {small_mlp(), small_resnet(), small_gpt()}) {
    auto alone = run_of(job, plan_of_one(job.spec, job.layers));
    const std::vector<digest128> expected = alone.step(0).layers;
    const plan p = plan_of_one(job.spec, job.layers, 3);
    auto made = kernels::executor_for(job.spec, p, {1}, {job.data});
    BOOST_TEST_REQUIRE(bool(made));
    pass_at_once(**made, job, p.stages[0].group[0], 0);
    std::vector<std::uint64_t> values;
    for (std::uint32_t l = 0; l < job.layers; ++l) {
      (void)(*made)->run(0, {task_kind::fold, 0, l, {}});
      const outcome o = (*made)->run(0, {task_kind::measure, 0, l, {}});
      values.insert(values.end(), o.values.begin(), o.values.end());
    }
    for (std::uint32_t l = 0; l < job.layers; ++l) {
      const outcome o = (*made)->run(l % 2, {task_kind::apply, 0, l, values});
      BOOST_TEST((digest128{o.values[0], o.values[1]} == expected[l]));
    }
  }
}

BOOST_AUTO_TEST_CASE(other_seeds_and_slices_change_the_answer) {
  small_job job = small_gpt();
  const std::string before = trained_alone(job);
  job.spec.seed = 2;
  BOOST_TEST(trained_alone(job) != before);
  job = small_gpt();
  job.spec.slice = 3;
  BOOST_TEST(trained_alone(job) != before);
}

BOOST_AUTO_TEST_CASE(each_sabotage_changes_a_resnet) {
  const small_job job = small_resnet();
  const std::string before = trained_alone(job);
  const plan p = plan_of_one(job.spec, job.layers);
  BOOST_TEST(trained(job, p, 1, sabotage::reversed_fold) != before);
  BOOST_TEST(trained(job, p, 1, sabotage::statistics_twice) != before);
  BOOST_TEST(trained(job, p, 1, sabotage::dropped_slice) != before);
}

BOOST_AUTO_TEST_CASE(a_reversed_fold_or_a_dropped_slice_changes_a_gpt) {
  const small_job job = small_gpt();
  const std::string before = trained_alone(job);
  const plan p = plan_of_one(job.spec, job.layers);
  BOOST_TEST(trained(job, p, 1, sabotage::reversed_fold) != before);
  BOOST_TEST(trained(job, p, 1, sabotage::dropped_slice) != before);
}

BOOST_AUTO_TEST_CASE(a_stage_reserves_what_the_account_says) {
  for (const small_job& job : {small_mlp(), small_resnet(), small_gpt()}) {
    const auto profile = kernels::profile_of(job.spec, job.data->info());
    const std::uint32_t slices = slice_count(job.spec);
    plan p = plan_of({{2, {1, 1, slices - 2}, 2, 3}, {job.layers - 2, {slices - 1, 1}, 1, 2}});
    auto run = run_of(job, p);
    for (std::uint32_t s = 0; s < 2; ++s) {
      for (std::uint32_t i = 0; i < p.stages[s].group.size(); ++i) {
        const bytes said = total(account_of(*profile, p, {s, i}));
        BOOST_TEST(memory_of(run.at(s, i)).count == said.count);
        BOOST_TEST(stage_memory(*profile, p, {s, i}).count - said.count < 4096U);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_loss_that_is_not_finite_names_layer_and_micro_batch) {
  small_job job = small_mlp();
  job.spec.optimizer = {};
  job.spec.optimizer.learning_rate = 1e30;
  auto run = run_of(job, plan_of_one(job.spec, job.layers));
  BOOST_TEST(run.step(0).finite);
  const step_record record = run.step(1);
  BOOST_TEST(!record.finite);
  BOOST_TEST(record.where.micro_batch == 0U);
  BOOST_TEST(record.where.layer < job.layers);
}

BOOST_AUTO_TEST_CASE(targets_that_do_not_count_are_left_out_of_the_mean) {
  const small_job job = small_gpt();
  auto run = run_of(job, plan_of_one(job.spec, job.layers));
  BOOST_TEST(run.step(0).counted == 12U * 8U - 1U);
}

BOOST_AUTO_TEST_CASE(what_the_plan_does_not_expect_gets_no_room) {
  const small_job job = small_mlp();  // 7 micro-batches, slices [0,2) [2,4) [4,6) [6,7)
  const plan p = plan_of({{3, {4}}, {3, {2, 2}}});
  auto run = run_of(job, p);
  executor& second = run.at(1, 1);  // layers 3-5, slices 2 and 3, micro-batches 4-6
  using enum tensor_kind;
  BOOST_TEST(!second.room({activation, 0, 3, 4}).empty());
  BOOST_TEST(second.room({activation, 0, 3, 4}).data() ==
             second.room({activation, 0, 3, 4}).data());
  BOOST_TEST(second.room({activation, 0, 3, 3}).empty());  // another's micro-batch
  BOOST_TEST(second.room({activation, 0, 3, 7}).empty());  // nobody's
  BOOST_TEST(second.room({activation, 0, 2, 4}).empty());  // inside another stage
  BOOST_TEST(second.room({activation, 1, 3, 4}).empty());  // too early
  BOOST_TEST(
      second.room({activation_gradient, 0, 6, 4}).empty());  // nothing comes back to the last
  BOOST_TEST(!second.room({gradient, 0, 3, 2}).empty());
  BOOST_TEST(second.room({gradient, 0, 3, 4}).empty());  // its own to make
  BOOST_TEST(second.room({gradient, 0, 2, 2}).empty());  // not its layer
  BOOST_TEST(second.room({gradient, 9, 3, 2}).empty());  // far ahead
  BOOST_TEST(second.room({state, 0, 3, 0}).empty());
  BOOST_TEST(second.hold({gradient, 0, 3, 4}).empty());  // not made yet
  BOOST_TEST(run.at(0, 0).hold({activation, 0, 3, 0}).empty());
}

BOOST_AUTO_TEST_CASE(what_is_here_gets_no_room_again) {
  const small_job job = small_mlp();
  const plan p = plan_of({{3, {4}}, {3, {2, 2}}});
  auto run = run_of(job, p);
  executor& second = run.at(1, 1);
  using enum tensor_kind;
  for (const tensor_ref ref : {tensor_ref{activation, 0, 3, 4}, tensor_ref{gradient, 0, 3, 2}}) {
    BOOST_REQUIRE(!second.room(ref).empty());
    second.arrived(ref);
    BOOST_TEST(second.room(ref).empty());
  }
}

BOOST_AUTO_TEST_CASE(what_has_been_gets_no_room_again) {
  const small_job job = small_mlp();
  const plan p = plan_of({{3, {4}}, {3, {2, 2}}});
  auto run = run_of(job, p);
  (void)run.step(0);
  executor& last = run.at(1, 1);
  using enum tensor_kind;
  BOOST_TEST(last.room({activation, 0, 3, 4}).empty());
  BOOST_TEST(last.room({gradient, 0, 3, 2}).empty());
  BOOST_TEST(run.at(0, 0).room({activation_gradient, 0, 3, 0}).empty());
  BOOST_TEST(run.at(1, 0).room({gradient, 0, 3, 4}).empty());
  BOOST_TEST(!last.room({activation, 1, 3, 4}).empty());
  BOOST_TEST(!last.room({gradient, 1, 3, 2}).empty());
}

BOOST_AUTO_TEST_CASE(a_state_is_there_for_its_own_step_only) {
  const small_job job = small_mlp();
  auto run = run_of(job, plan_of_one(job.spec, job.layers));
  (void)run.step(0);
  BOOST_TEST(run.state(0, 0).empty());
  BOOST_TEST(!run.state(0, 1).empty());
  BOOST_TEST(run.state(99, 1).empty());
}

BOOST_AUTO_TEST_CASE(a_stage_that_cannot_be_built_says_why) {
  const small_job job = small_mlp();
  const plan p = plan_of_one(job.spec, job.layers);
  const auto why = [&](const specification& spec, const plan& what, peer_id self) {
    const auto made = kernels::executor_for(spec, what, self, {job.data});
    return made ? std::string("built") : made.why().what;
  };
  BOOST_TEST(why(job.spec, p, {1}) == "built");
  BOOST_TEST(why(job.spec, p, {2}) == "build a stage: the plan has no part for p2");
  BOOST_TEST(why(job.spec, plan_of_one(job.spec, 7), {1}) ==
             "build a stage: the plan names layers that the model lacks");
  specification spec = job.spec;
  spec.micro_batch = 4;
  BOOST_TEST(why(spec, p, {1}) == "job.micro_batch: 4 does not divide a mini-batch of 21");
  spec.micro_batch = 0;
  BOOST_TEST(why(spec, p, {1}) == "job.micro_batch must be at least 1");
  spec = job.spec;
  spec.slice = 9;
  BOOST_TEST(why(spec, p, {1}) == "job.slice: 9 is more than the 7 micro-batches of a mini-batch");
  spec = job.spec;
  spec.initial_weights = "/nowhere.safetensors";
  BOOST_TEST(why(spec, p, {1}).find("/nowhere.safetensors") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(initial_weights_of_another_content_are_refused) {
  small_job job = small_mlp();
  job.spec.initial_weights = "../shared/goldens/runs/mlp_digits/final.safetensors";
  job.spec.initial_content = {1, 2};
  const auto made = kernels::executor_for(job.spec, plan_of_one(job.spec, 6), {1}, {job.data});
  BOOST_TEST(made.why().what == job.spec.initial_weights + ": not the content that the job names");
}

BOOST_AUTO_TEST_CASE(initial_weights_must_fit_the_model) {
  const small_job job = small_mlp();
  const plan p = plan_of_one(job.spec, job.layers);
  const kernels::tensor_file empty;
  const auto made = kernels::executor_for(job.spec, p, {1}, {job.data, &empty});
  BOOST_TEST(made.why().what == "weights: no tensor fc1.weight");
  kernels::tensor_file wrong;
  wrong.tensors.push_back({"fc1.weight", kernels::dtype::f32, {2, 2}, std::vector<std::byte>(16)});
  const auto shaped = kernels::executor_for(job.spec, p, {1}, {job.data, &wrong});
  BOOST_TEST(shaped.why().what == "weights: fc1.weight has shape [2, 2], the model's is [12, 32]");
  wrong.tensors.front().type = kernels::dtype::i32;
  const auto typed = kernels::executor_for(job.spec, p, {1}, {job.data, &wrong});
  BOOST_TEST(typed.why().what == "weights: fc1.weight is I32, the model's is F32");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::test
