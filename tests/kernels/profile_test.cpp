#include "kernels/executor_factory.hpp"
#include "kernels/stage.hpp"
#include "tests/support/small_models.hpp"

#include <boost/test/unit_test.hpp>

namespace perigee::test {

namespace {

model_profile profiled(const small_job& job) {
  const auto p = kernels::profile_of(job.spec, job.data->info());
  BOOST_TEST_REQUIRE(bool(p), (p ? "" : p.why().what));
  return *p;
}

specification digits_job() {
  specification spec;
  spec.data.kind = data_kind::csv;
  spec.data.path = "../shared/data/digits/digits.csv.gz";
  spec.data.validation_count = 357;
  spec.mini_batch = 8, spec.micro_batch = 2;
  return spec;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(profile)

BOOST_AUTO_TEST_CASE(boundaries_of_neighbouring_layers_agree) {
  for (const small_job& job : {small_mlp(), small_resnet(), small_gpt()}) {
    const model_profile p = profiled(job);
    BOOST_TEST(p.layers.size() == job.layers);
    for (std::size_t i = 0; i + 1 < p.layers.size(); ++i)
      BOOST_TEST(p.layers[i].output.count == p.layers[i + 1].input.count);
    BOOST_TEST(p.layers.back().output.count == 0U);
  }
}

BOOST_AUTO_TEST_CASE(an_mlps_figures_are_those_of_its_products) {
  const model_profile p = profiled(small_mlp());
  const layer_profile& fc2 = p.layers[1];  // 12 to 10, 3 samples
  constexpr auto matrix = static_cast<std::size_t>(work_class::matrix);
  BOOST_TEST(fc2.name == "fc2");
  BOOST_TEST(fc2.forward[matrix] >= 2U * 3 * 12 * 10);
  BOOST_TEST(fc2.backward[matrix] >= 4U * 3 * 12 * 10);
  BOOST_TEST(fc2.parameter_count == 2U);
  BOOST_TEST(fc2.kernel_count == 2U);
  BOOST_TEST(fc2.input.count == 3U * 12 * 4);
  BOOST_TEST(fc2.parameters.count == (128U + 16U) * 4);     // 120 and 10 values, each to 64 bytes
  BOOST_TEST(fc2.state.count == 3 * fc2.parameters.count);  // adam
  BOOST_TEST(fc2.gradient.count == fc2.parameters.count + 64);
  BOOST_TEST(fc2.statistics.count == 0U);
}

BOOST_AUTO_TEST_CASE(a_resnets_statistics_are_in_state_and_gradient) {
  const layer_profile stem = profiled(small_resnet()).layers[0];  // 8 channels
  BOOST_TEST(stem.statistics.count == 64U);
  BOOST_TEST(stem.state.count == 2 * stem.parameters.count + 64);
  BOOST_TEST(stem.gradient.count == stem.parameters.count + 128);
  constexpr auto convolution = static_cast<std::size_t>(work_class::convolution);
  BOOST_TEST(stem.forward[convolution] >= 2U * 3 * 64 * 9 * 8);
}

BOOST_AUTO_TEST_CASE(a_profile_counts_the_batches_of_the_job) {
  const model_profile p = profiled(small_mlp());
  BOOST_TEST(p.micro_batch_count == 7U);
  BOOST_TEST(p.slice_size == 2U);
  BOOST_TEST(p.slice_count == 4U);
  BOOST_TEST(p.micro_batch_samples == 3U);
}

BOOST_AUTO_TEST_CASE(a_profile_of_a_file_reads_its_classes) {
  const auto p = kernels::profile_of(digits_job());
  BOOST_TEST_REQUIRE(bool(p), (p ? "" : p.why().what));
  BOOST_TEST(p->layers.size() == 1U);
  BOOST_TEST(p->layers[0].parameters.count == (640U + 16U) * 4);
}

BOOST_AUTO_TEST_CASE(a_profile_without_data_says_which_file) {
  specification spec = digits_job();
  spec.data.path = "/nowhere.csv";
  BOOST_TEST(kernels::profile_of(spec).why().what.find("/nowhere.csv") != std::string::npos);
  BOOST_TEST(kernels::completed(spec).why().what.find("/nowhere.csv") != std::string::npos);
  spec.mini_batch = 0;
  BOOST_TEST(kernels::profile_of(spec).why().what == "job.mini_batch must be at least 1");
}

BOOST_AUTO_TEST_CASE(completing_a_job_names_the_content_of_its_files) {
  specification spec = digits_job();
  const auto whole = kernels::completed(spec);
  BOOST_TEST_REQUIRE(bool(whole), (whole ? "" : whole.why().what));
  BOOST_TEST((whole->data.content != digest128{}));
  BOOST_TEST(bool(kernels::completed(*whole)));
  spec.data.content = {1, 2};
  BOOST_TEST((kernels::completed(spec).why().code == errc::malformed));
}

BOOST_AUTO_TEST_CASE(initial_weights_are_named_by_content_too) {
  specification spec = digits_job();
  spec.initial_weights = spec.data.path;  // any file has a content
  const auto whole = kernels::completed(spec);
  BOOST_TEST_REQUIRE(bool(whole));
  BOOST_TEST((whole->initial_content != digest128{}));
  spec.initial_content = {1, 2};
  BOOST_TEST(kernels::completed(spec).why().what.find("its content is") != std::string::npos);
  spec.initial_weights = "/nowhere.safetensors";
  BOOST_TEST((kernels::completed(spec).why().code == errc::io));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::test
