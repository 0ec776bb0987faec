#include "kernels/evaluate.hpp"

#include "kernels/stage.hpp"
#include "kernels/weights.hpp"
#include "tests/support/fixed_dataset.hpp"
#include "tests/support/sequential_run.hpp"
#include "tests/support/small_models.hpp"

#include <boost/test/unit_test.hpp>

namespace perigee::test {

namespace {

using kernels::split;

struct trained_model {
  kernels::tensor_file weights;
  double last_loss = 0;
};

trained_model trained(const small_job& job, std::uint64_t steps) {
  const plan p = plan_of_one(job.spec, job.layers);
  sequential_run run(job.spec, p, [&](peer_id self) {
    auto made = kernels::executor_for(job.spec, p, self, {job.data});
    BOOST_TEST_REQUIRE(bool(made), (made ? "" : made.why().what));
    return std::move(*made);
  });
  trained_model model;
  for (std::uint64_t s = 0; s < steps; ++s) model.last_loss = run.step(s).loss;
  std::vector<std::vector<std::byte>> states;
  std::vector<std::span<const std::byte>> views;
  for (std::uint32_t l = 0; l < job.layers; ++l) states.push_back(run.state(l, steps));
  for (const auto& state : states) views.emplace_back(state);
  auto weights = kernels::weights_of(job.spec, job.data->info(), views);
  BOOST_TEST_REQUIRE(bool(weights), (weights ? "" : weights.why().what));
  model.weights = std::move(*weights);
  return model;
}

/// A gpt whose data say the alphabet over and over.
small_job alphabet() {
  small_job job = small_gpt();
  job.spec.model.dropout = 0;
  job.spec.optimizer.learning_rate = 1e-2;
  kernels::dataset_info info = job.data->info();
  std::vector<std::int32_t> in, out;
  for (std::int32_t sample = 0; sample < 48; ++sample) {
    for (std::int32_t t = 0; t < 8; ++t) {
      in.push_back((sample * 7 + t) % 11);
      out.push_back((sample * 7 + t + 1) % 11);
    }
  }
  job.data = std::make_shared<fixed_dataset>(info, in, out);
  return job;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(evaluate)

BOOST_AUTO_TEST_CASE(the_loss_of_a_first_step_is_that_of_its_samples) {
  small_job job = small_mlp();
  const auto weights = trained(job, 0).weights;
  const double loss = trained(job, 1).last_loss;  // of samples 0-20, before the update
  const auto e = kernels::evaluate(job.spec, *job.data, weights, {split::training, 21});
  BOOST_TEST_REQUIRE(bool(e));
  BOOST_TEST(e->loss == loss, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(e->counted == 21U);
}

BOOST_AUTO_TEST_CASE(each_sample_counts_once_whatever_the_batch) {
  small_job job = small_gpt();
  const auto weights = trained(job, 0).weights;
  const auto twos = kernels::evaluate(job.spec, *job.data, weights, {split::validation, 1000});
  job.spec.micro_batch = 5;  // 64 samples: twelve batches and a rest
  const auto fives = kernels::evaluate(job.spec, *job.data, weights, {split::validation, 1000});
  BOOST_TEST_REQUIRE((twos && fives));
  BOOST_TEST(twos->samples == 64U);
  BOOST_TEST(twos->counted == 64U * 8U - 1U);
  BOOST_TEST(fives->counted == twos->counted);
  BOOST_TEST(fives->correct == twos->correct);
  BOOST_TEST(fives->loss == twos->loss, boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(a_resnet_is_evaluated_with_its_running_statistics) {
  small_job job = small_resnet();
  job.spec.optimizer.learning_rate = 0.05;
  const auto weights = trained(job, 80).weights;
  const auto e = kernels::evaluate(job.spec, *job.data, weights, {split::training, 1000});
  BOOST_TEST_REQUIRE(bool(e));
  BOOST_TEST(e->accuracy() > 0.9);  // it knows its 64 samples by heart
  auto forgetful = weights;
  for (auto& t : forgetful.tensors)
    if (t.name.ends_with("running_mean")) std::fill(t.data.begin(), t.data.end(), std::byte{0});
  const auto worse = kernels::evaluate(job.spec, *job.data, forgetful, {split::training, 1000});
  BOOST_TEST(worse->loss > e->loss);
}

BOOST_AUTO_TEST_CASE(a_gpt_that_learned_the_alphabet_says_it) {
  const small_job job = alphabet();
  const auto model = trained(job, 80);
  kernels::generation how{"cde", 12, 1, 0};
  const auto text = kernels::generate(job.spec, *job.data, model.weights, how);
  BOOST_TEST_REQUIRE(bool(text), (text ? "" : text.why().what));
  BOOST_TEST(*text == "fghijkabcdef");
}

BOOST_AUTO_TEST_CASE(who_stops_it_waits_for_one_batch_or_token_at_most) {
  const small_job job = small_gpt();
  const auto weights = trained(job, 0).weights;
  int asked = 0;
  const auto at_the_third = [&asked] { return ++asked == 3; };
  const auto e =
      kernels::evaluate(job.spec, *job.data, weights, {split::training, 1000, at_the_third});
  BOOST_TEST_REQUIRE(!e);
  BOOST_TEST((e.why().code == errc::unavailable));
  BOOST_TEST(asked == 3);
  asked = 0;
  const auto text = kernels::generate(job.spec, *job.data, weights, {"", 1000, 1, 0, at_the_third});
  BOOST_TEST_REQUIRE(!text);
  BOOST_TEST((text.why().code == errc::unavailable));
  BOOST_TEST(asked == 3);
}

BOOST_AUTO_TEST_CASE(a_seed_draws_the_same_text_again) {
  const small_job job = small_gpt();
  const auto weights = trained(job, 0).weights;
  const auto told = [&](std::uint64_t seed) {
    return *kernels::generate(job.spec, *job.data, weights, {"ab", 30, seed, 1000});
  };
  BOOST_TEST(told(1) == told(1));
  BOOST_TEST(told(1) != told(2));
  BOOST_TEST(told(1).size() == 30U);
}

BOOST_AUTO_TEST_CASE(a_prompt_outside_the_vocabulary_is_refused) {
  const small_job job = small_gpt();
  const auto weights = trained(job, 0).weights;
  const auto told = kernels::generate(job.spec, *job.data, weights, {"abz", 1, 1, 0});
  BOOST_TEST(told.why().what == "prompt: byte 3 begins a symbol that the text does not have");
}

BOOST_AUTO_TEST_CASE(only_a_gpt_writes) {
  const small_job job = small_mlp();
  const auto told = kernels::generate(job.spec, *job.data, {}, {});
  BOOST_TEST(told.why().what == "generate text: the model is no gpt");
}

BOOST_AUTO_TEST_CASE(weights_that_do_not_fit_are_refused) {
  const small_job job = small_mlp();
  const auto e = kernels::evaluate(job.spec, *job.data, {}, {split::training, 10});
  BOOST_TEST(e.why().what == "weights: no tensor fc1.weight");
}

BOOST_AUTO_TEST_CASE(states_that_do_not_fit_make_no_weights) {
  const small_job job = small_mlp();
  const std::vector<std::byte> state(8);
  const auto why = [&](std::uint32_t layer) {
    return kernels::parameters_of(job.spec, job.data->info(), layer, state).why().what;
  };
  BOOST_TEST(why(0) == "state of layer fc1: 8 bytes, the model has 4800");
  BOOST_TEST(why(6) == "weights: layer 6 of a model of 6");
  BOOST_TEST(kernels::weights_of(job.spec, job.data->info(), {}).why().what ==
             "weights: 0 states for a model of 6 layers");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::test
