// The simulated swarm with the real kernels: small jobs of each kind end in the same bits under
// any plan.
#include "kernels/executor_factory.hpp"
#include "tests/sim/cases.hpp"
#include "tests/support/temporary_folder.hpp"

#include <boost/test/unit_test.hpp>

namespace perigee::net {

namespace {

specification batches(std::uint32_t mini, std::uint32_t micro, std::uint32_t slice) {
  specification spec;
  spec.steps = 3;
  spec.mini_batch = mini;
  spec.micro_batch = micro;
  spec.slice = slice;
  return spec;
}

/// 40 rows of 64 features, 4 classes.
std::string table_file(const test::temporary_folder& folder) {
  random r(3, purpose::simulation, 1);
  std::string rows;
  for (int row = 0; row < 40; ++row) {
    for (int column = 0; column < 64; ++column) rows += std::to_string(r.below(17)) + ',';
    rows += std::to_string(row < 4 ? row : static_cast<int>(r.below(4))) + '\n';
  }
  return folder.write("table.csv", rows);
}

std::string text_file(const test::temporary_folder& folder) {
  random r(3, purpose::simulation, 2);
  std::string letters;
  for (int i = 0; i < 600; ++i) letters += static_cast<char>('a' + r.below(9));
  return folder.write("letters.txt", letters);
}

specification mlp(const test::temporary_folder& folder) {
  specification spec = batches(14, 2, 2);  // 7 micro-batches: the last slice is short
  spec.model.hidden = {12, 10, 9, 8, 7};
  spec.data.kind = data_kind::csv;
  spec.data.path = table_file(folder);
  spec.optimizer.kind = optimizer_kind::adam;
  return spec;
}

specification resnet(const test::temporary_folder& folder) {
  specification spec = batches(8, 2, 1);
  spec.model.kind = model_kind::resnet;
  spec.model.stages = {1, 2};
  spec.model.width = 8;
  spec.data.kind = data_kind::csv;
  spec.data.path = table_file(folder);
  spec.optimizer.momentum = 0.9;
  return spec;
}

specification gpt(const test::temporary_folder& folder) {
  specification spec = batches(12, 2, 2);
  spec.model.kind = model_kind::gpt;
  spec.model.width = 16;
  spec.model.blocks = 2;
  spec.model.heads = 2;
  spec.model.context = 8;
  spec.model.dropout = 0.1;
  spec.data.kind = data_kind::text;
  spec.data.path = text_file(folder);
  spec.optimizer.kind = optimizer_kind::adamw;
  spec.optimizer.weight_decay = 0.1;
  spec.clip_norm = 0.5;
  return spec;
}

/// A residual network as PyTorch exported it, on the digits that it was made for.
specification imported() {
  specification spec = batches(8, 2, 1);
  spec.model.kind = model_kind::onnx;
  spec.model.file = "../shared/goldens/runs/resnet_digits/model.onnx";
  spec.data.kind = data_kind::csv;
  spec.data.path = "../shared/data/digits/digits.csv.gz";
  spec.data.scale = 1.0 / 16;
  spec.optimizer.momentum = 0.9;
  return spec;
}

/// Runs the job on one peer and then by random plans; all end in the same states.
void expect_one_answer(const specification& asked, std::uint64_t plans) {
  auto spec = kernels::completed(asked);
  BOOST_TEST_REQUIRE(static_cast<bool>(spec), (spec ? "" : spec.why().what));
  const auto model = kernels::profile_of(*spec);
  BOOST_TEST_REQUIRE(static_cast<bool>(model), (model ? "" : model.why().what));
  job_record job;
  job.spec = *spec;
  job.job = id_of(*spec);
  simulation_options options;
  options.how = recording::hash_only;
  options.executors = [](const specification& s, const plan& p, peer_id self) {
    return kernels::executor_for(s, p, self);
  };
  job.wanted.stages = 1;
  const auto alone = simulate(job, *model, {.count = 1}, 1, options);
  BOOST_TEST_REQUIRE(static_cast<bool>(alone), (alone ? "" : alone.why().what));
  BOOST_TEST_REQUIRE(alone->last.step == spec->steps, alone->why.what);

  for (std::uint64_t seed = 1; seed <= plans; ++seed) {
    random r(seed, purpose::simulation, 7);
    fleet of;
    of.workers = {1, 3};
    job.wanted = cases::wishes_of(r, *model, of.count);
    const auto report = simulate(job, *model, of, seed, options);
    BOOST_TEST_CONTEXT("seed " << seed) {
      BOOST_TEST_REQUIRE(static_cast<bool>(report), (report ? "" : report.why().what));
      BOOST_TEST(report->why.what == "");
      BOOST_TEST((report->last.states == alone->last.states), text(report->current));
      BOOST_TEST(report->last.loss_bits == alone->last.loss_bits);
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kernels_matrix)

BOOST_AUTO_TEST_CASE(a_perceptron_has_one_answer) {
  const test::temporary_folder folder;
  expect_one_answer(mlp(folder), 24);
}

BOOST_AUTO_TEST_CASE(a_residual_network_has_one_answer) {
  const test::temporary_folder folder;
  expect_one_answer(resnet(folder), 16);
}

BOOST_AUTO_TEST_CASE(an_imported_model_has_one_answer) { expect_one_answer(imported(), 16); }

BOOST_AUTO_TEST_CASE(a_transformer_has_one_answer) {
  const test::temporary_folder folder;
  expect_one_answer(gpt(folder), 16);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::net
