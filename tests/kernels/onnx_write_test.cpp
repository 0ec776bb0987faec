// A model of the list goes out as an ONNX file and comes back as the same model.
#include "kernels/evaluate.hpp"
#include "kernels/model/onnx/write.hpp"
#include "kernels/model/onnx_model.hpp"
#include "kernels/weights.hpp"
#include "tests/support/sequential_run.hpp"
#include "tests/support/small_models.hpp"
#include "tests/support/temporary_folder.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

namespace perigee::test {

BOOST_AUTO_TEST_SUITE(onnx_write)

namespace {

using kernels::tensor_file;

/// Returns the weights after a step.
tensor_file trained(const small_job& job) {
  const plan p = plan_of_one(job.spec, job.layers);
  sequential_run run(job.spec, p, [&](peer_id self) {
    auto made = kernels::executor_for(job.spec, p, self, {job.data});
    BOOST_TEST_REQUIRE(bool(made), (made ? "" : made.why().what));
    return std::move(*made);
  });
  (void)run.step(0);
  std::vector<std::vector<std::byte>> states;
  std::vector<std::span<const std::byte>> views;
  for (std::uint32_t l = 0; l < job.layers; ++l) states.push_back(run.state(l, 1));
  for (const auto& state : states) views.emplace_back(state);
  auto weights = kernels::weights_of(job.spec, job.data->info(), views);
  BOOST_TEST_REQUIRE(bool(weights), (weights ? "" : weights.why().what));
  return *weights;
}

void check_round_trip(const small_job& job) {
  const temporary_folder folder;
  const tensor_file weights = trained(job);
  const auto file = kernels::onnx_file_of(job.spec, job.data->info(), weights);
  BOOST_TEST_REQUIRE(bool(file), (file ? "" : file.why().what));
  specification back = job.spec;
  back.model = {};
  back.model.kind = model_kind::onnx;
  back.model.file =
      folder.write("out.onnx", {reinterpret_cast<const char*>(file->data()), file->size()});
  const auto graph = kernels::read_model(back.model);
  BOOST_TEST_REQUIRE(bool(graph), (graph ? "" : graph.why().what));
  const auto read = kernels::weights_in(*graph, back.model);
  BOOST_TEST_REQUIRE(bool(read), (read ? "" : read.why().what));
  BOOST_TEST(read->tensors.size() == weights.tensors.size());
  for (const auto& t : weights.tensors) {
    const auto* same = read->find(t.name);
    BOOST_TEST((same != nullptr && *same == t), t.name);
  }
  const auto before = kernels::evaluate(job.spec, *job.data, weights, {});
  const auto after = kernels::evaluate(back, *job.data, *read, {});
  BOOST_TEST_REQUIRE(bool(after), (after ? "" : after.why().what));
  BOOST_TEST(after->correct == before->correct);
  BOOST_TEST(after->loss == before->loss, boost::test_tools::tolerance(1e-6));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_perceptron_comes_back) { check_round_trip(small_mlp()); }
BOOST_AUTO_TEST_CASE(a_residual_network_comes_back) { check_round_trip(small_resnet()); }
BOOST_AUTO_TEST_CASE(a_transformer_comes_back) { check_round_trip(small_gpt()); }

BOOST_AUTO_TEST_CASE(a_model_from_a_file_comes_back) {
  const temporary_folder folder;
  check_round_trip(small_skips(folder.file("skips.onnx")));
}

BOOST_AUTO_TEST_CASE(a_missing_weight_is_named) {
  const small_job job = small_mlp();
  BOOST_TEST(kernels::onnx_file_of(job.spec, job.data->info(), {}).why().what ==
             "weights: no tensor fc1.weight");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::test
