#include "kernels/evaluate.hpp"
#include "kernels/format/npy.hpp"
#include "kernels/stage.hpp"
#include "kernels/weights.hpp"
#include "tests/support/fixed_dataset.hpp"
#include "tests/support/golden_run.hpp"
#include "tests/support/sequential_run.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstdlib>

namespace perigee::test {

namespace {

/// What the makers of the numbers did (../shared/research/data.md, section 1).
struct reference {
  std::string name;
  optimizer_spec optimizer;
  std::uint64_t hits;  // of the 357 samples that were not trained on
};

std::vector<reference> references() {
  const auto sgd = [](double rate, double momentum, bool nesterov, double decay) {
    optimizer_spec s;
    s.learning_rate = rate, s.momentum = momentum, s.nesterov = nesterov, s.weight_decay = decay;
    return s;
  };
  const auto adam = [](optimizer_kind kind, double decay) {
    optimizer_spec s;
    s.kind = kind, s.learning_rate = 2e-3, s.weight_decay = decay;
    return s;
  };
  return {{"sgd", sgd(0.1, 0, false, 0), 301},
          {"momentum", sgd(0.05, 0.9, false, 0), 322},
          {"nesterov", sgd(0.05, 0.9, true, 0), 318},
          {"sgd_wd", sgd(0.1, 0, false, 0.01), 301},
          {"adam", adam(optimizer_kind::adam, 0), 309},
          {"adamw", adam(optimizer_kind::adamw, 0.01), 309}};
}

kernels::npy_array array(const std::string& name) {
  auto read = kernels::read_npy("../shared/data/torch-reference/mlp-digits/" + name + ".npy");
  BOOST_TEST_REQUIRE(bool(read), (read ? "" : read.why().what));
  return *read;
}

kernels::tensor_file tensors(const std::string& prefix) {
  kernels::tensor_file file;
  const std::pair<const char*, const char*> names[] = {
      {"fc1.weight", "w1"}, {"fc1.bias", "b1"}, {"fc2.weight", "w2"}, {"fc2.bias", "b2"}};
  for (const auto& [ours, theirs] : names) {
    const auto a = array(prefix + theirs);
    file.tensors.push_back({ours, a.type, a.shape, a.data});
  }
  return file;
}

/// The digits in file order, with the last 357 behind the 1,440 that are trained on.
struct digits {
  std::shared_ptr<const kernels::dataset> in_file_order;
  std::shared_ptr<const kernels::dataset> whole;
};

digits read_digits() {
  data_spec spec;
  spec.kind = data_kind::csv;
  spec.path = "../shared/data/digits/digits.csv.gz";
  spec.validation_count = 357;
  spec.scale = 1.0 / 16;
  auto whole = kernels::open_dataset(spec, 0);
  BOOST_TEST_REQUIRE(bool(whole), (whole ? "" : whole.why().what));
  std::vector<float> pixels(1440 * 64);
  std::vector<std::int32_t> labels(1440);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    (*whole)->input(kernels::split::training, i, pixels.data() + i * 64);
    (*whole)->target(kernels::split::training, i, labels.data() + i);
  }
  return {std::make_shared<fixed_dataset>((*whole)->info(), std::move(pixels), std::move(labels)),
          *whole};
}

specification job_of(const reference& r) {
  specification spec;
  spec.model.hidden = {32};
  spec.mini_batch = 32, spec.micro_batch = 32, spec.steps = 200;
  spec.optimizer = r.optimizer;
  return spec;
}

void check_losses(sequential_run& run, const std::string& name) {
  const auto losses = kernels::doubles_of(array(name + "_loss"));
  BOOST_TEST_REQUIRE(losses.size() == 200U);
  for (std::size_t s = 0; s < losses.size(); ++s) {
    const double loss = run.step(s).loss;
    // Another order of additions drifts.
    const double bound = s < 20 ? 1e-5 : 1e-3;
    BOOST_TEST(std::abs(loss - losses[s]) <= bound * losses[s],
               name << ", step " << s << ": " << loss << ", PyTorch's is " << losses[s]);
  }
}

void check_final(const kernels::tensor_file& ours, const std::string& name) {
  for (const auto& theirs : tensors(name + "_final_").tensors) {
    const auto a = floats_of(*ours.find(theirs.name)), b = floats_of(theirs);
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < b.size(); ++i) {
      worst = std::max(worst, std::abs(double{a[i]} - double{b[i]}));
      largest = std::max(largest, std::abs(double{b[i]}));
    }
    BOOST_TEST(worst <= 1e-3 * largest, name << ", " << theirs.name << ": off by " << worst);
  }
}

void check(const reference& r, const digits& data) {
  const specification spec = job_of(r);
  const auto initial = tensors("init_");
  const plan alone = plan_of_one(spec, 2);
  sequential_run run(spec, alone, [&](peer_id self) {
    auto made = kernels::executor_for(spec, alone, self, {data.in_file_order, &initial});
    BOOST_TEST_REQUIRE(bool(made), (made ? "" : made.why().what));
    return std::move(*made);
  });
  check_losses(run, r.name);

  const auto first = run.state(0, 200), second = run.state(1, 200);
  const std::span<const std::byte> states[] = {first, second};
  const auto weights = kernels::weights_of(spec, data.whole->info(), states);
  BOOST_TEST_REQUIRE(bool(weights), (weights ? "" : weights.why().what));
  check_final(*weights, r.name);
  const auto test =
      kernels::evaluate(spec, *data.whole, *weights, {kernels::split::validation, 1000});
  BOOST_TEST_REQUIRE(bool(test), (test ? "" : test.why().what));
  BOOST_TEST(test->counted == 357U);
  BOOST_TEST(test->correct == r.hits, r.name << ": " << test->correct << " hits");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(golden_torch)

BOOST_AUTO_TEST_CASE(every_optimizer_trains_the_golden_digits_as_pytorch_does) {
  const digits data = read_digits();
  for (const reference& r : references()) check(r, data);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::test
