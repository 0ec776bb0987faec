#include "tests/support/golden_training.hpp"

#include "kernels/executor_factory.hpp"
#include "kernels/stage.hpp"
#include "kernels/weights.hpp"
#include "tests/support/sequential_run.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

namespace perigee::test {

namespace {

using kernels::named_tensor;

std::string goldens() {
  const char* named = std::getenv("PERIGEE_GOLDENS");
  return named != nullptr ? named : "../shared/goldens";
}

/// Checks one tensor against PyTorch's: within `share` of its largest value, or 1e-6.
void check_tensor(const named_tensor& ours, const named_tensor& theirs, double share) {
  BOOST_TEST_REQUIRE(ours.data.size() == theirs.data.size(), ours.name);
  const auto a = floats_of(ours), b = floats_of(theirs);
  double largest = 0, worst = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    largest = std::max(largest, std::abs(double{b[i]}));
    worst = std::max(worst, std::abs(double{a[i]} - double{b[i]}));
  }
  BOOST_TEST(worst <= std::max(1e-6, share * largest),
             ours.name << " is off by " << worst << ", its largest value is " << largest);
}

void check_final(const golden_run& run, sequential_run& trained, std::uint32_t layers,
                 double share) {
  std::size_t checked = 0;
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    const auto state = trained.state(layer, run.losses.size());
    const auto tensors = kernels::parameters_of(run.spec, run.data->info(), layer, state);
    BOOST_TEST_REQUIRE(bool(tensors));
    for (const named_tensor& ours : *tensors) {
      const named_tensor* theirs = run.final.find(ours.name);
      BOOST_TEST_REQUIRE(theirs != nullptr, ours.name << " is not in the final weights");
      check_tensor(ours, *theirs, share);
      ++checked;
    }
  }
  BOOST_TEST(checked == run.final.tensors.size());
}

}  // namespace

std::vector<std::string> golden_folders() {
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(goldens() + "/runs"))
    all.push_back(entry.path().string());
  std::sort(all.begin(), all.end());
  return all;
}

void check_golden_run(const golden_run& run, double share) {
  const auto profile = kernels::profile_of(run.spec, run.data->info());
  BOOST_TEST_REQUIRE(bool(profile));
  const auto layers = static_cast<std::uint32_t>(profile->layers.size());
  const auto* initial = run.initial.tensors.empty() ? nullptr : &run.initial;
  const plan alone = plan_of_one(run.spec, layers);
  sequential_run training(run.spec, alone, [&](peer_id self) {
    auto made = kernels::executor_for(run.spec, alone, self, {run.data, initial});
    BOOST_TEST_REQUIRE(bool(made), (made ? "" : made.why().what));
    return std::move(*made);
  });
  for (std::size_t s = 0; s < run.losses.size(); ++s) {
    const step_record step = training.step(s);
    BOOST_TEST_REQUIRE(step.finite);
    const double off = std::abs(step.loss - run.losses[s]) / run.losses[s];
    BOOST_TEST(off <= 1e-5, "loss of step " << s << " is " << step.loss << ", PyTorch's is "
                                            << run.losses[s] << ", off by " << off);
    if (s >= run.norms.size()) continue;
    const double norm_off = std::abs(step.norm - run.norms[s]) / run.norms[s];
    BOOST_TEST(norm_off <= 1e-4, "norm of step " << s << ": " << step.norm);
  }
  check_final(run, training, layers, share);
}

}  // namespace perigee::test
