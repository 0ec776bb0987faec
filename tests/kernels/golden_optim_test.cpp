// Every optimizer against PyTorch: each file in `optim` of the goldens. From param.0, gradient k
// must lead to param.k, for all k, each step going on from our own state.
//
// Bound: 1e-6 of the parameter's largest value after each step. PyTorch contracts some products
// and sums and so rounds once where we round twice: some 1e-7 a step.
#include "kernels/optimizer/optimizer.hpp"
#include "tests/kernels/golden.hpp"
#include "tests/kernels/op_run.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

namespace perigee::kernels::testing {
namespace {

constexpr double tolerance = 1e-6;

optimizer_spec spec_of(golden_attributes& a) {
  const auto kind = a.get<std::string>("kind", "");
  optimizer_spec s;
  if (kind == "adam")
    s.kind = optimizer_kind::adam;
  else if (kind == "adamw")
    s.kind = optimizer_kind::adamw;
  else if (kind != "sgd")
    throw std::runtime_error("no optimizer is called `" + kind + "`");
  s.learning_rate = a.get("lr", 0.01);
  s.momentum = a.get("momentum", 0.0);
  s.nesterov = a.get("nesterov", false);
  s.weight_decay = a.get("weight_decay", 0.0);
  s.beta1 = a.get("beta1", 0.9);
  s.beta2 = a.get("beta2", 0.999);
  s.epsilon = a.get("epsilon", 1e-8);
  a.all_used();
  return s;
}

/// Returns the worst error over all steps.
double worst_step(const golden& g, const optimizer_spec& spec) {
  const optimizer by(spec);
  values param = g.floats("param.0");
  values moment1(by.moment_count() >= 1 ? param.size() : 0);
  values moment2(by.moment_count() >= 2 ? param.size() : 0);
  double worst = 0;
  std::uint64_t step = 0;
  for (; g.has("grad." + std::to_string(step + 1)); ++step) {
    const values grad = g.floats("grad." + std::to_string(step + 1));
    by.update({.step = step,
               .rate = spec.learning_rate,
               .scale = 1,
               .param = param,
               .grad = grad,
               .moment1 = moment1,
               .moment2 = moment2});
    worst = std::max(worst, worst_error(param, g.floats("param." + std::to_string(step + 1))));
  }
  if (step == 0 || g.names("grad.").size() != step || g.names("param.").size() != step + 1)
    throw std::runtime_error("param.0, grad.k and param.k are not those of steps 1, 2, …");
  return worst;
}

std::string complaint(const std::string& path) {
  try {
    const golden g(path);
    golden_attributes a(g.metadata("optimizer"));
    const double worst = worst_step(g, spec_of(a));
    std::printf("%-34s worst error of any step %.1e\n", g.name().c_str(), worst);
    return worst <= tolerance ? "" : "worst error " + std::to_string(worst);
  } catch (const std::exception& e) { return e.what(); }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(golden_optim)

BOOST_AUTO_TEST_CASE(golden_optimizers_agree_with_pytorch) {
  for (const std::string& path : golden_files("optim")) {
    const std::string wrong = complaint(path);
    BOOST_TEST(wrong.empty(), path << ": " << wrong);
  }
}

BOOST_AUTO_TEST_CASE(golden_optimizers_of_other_kinds_fail) {
  golden_attributes other(R"({"kind": "lion"})"), more(R"({"kind": "sgd", "dampening": 0.1})");
  BOOST_CHECK_THROW(spec_of(other), std::runtime_error);
  BOOST_CHECK_THROW(spec_of(more), std::runtime_error);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::kernels::testing
