// Every operator against PyTorch: each file in `ops` of the goldens, forward and each gradient.
//
// The bound for all operators is 2e-5 of the tensor's largest value: f32 sums of up to some
// thousand terms in another order. None needs a wider one. A file that nobody can judge fails.
#include "tests/kernels/golden_judges.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <stdexcept>

namespace perigee::kernels::testing {
namespace {

constexpr double tolerance = 2e-5;

/// Judges one file and returns what went wrong, or nothing.
std::string complaint(const std::string& path) {
  try {
    golden g(path);
    const std::string op = g.metadata("op");
    const judge by = heavy_judge(op) != nullptr ? heavy_judge(op) : loop_judge(op);
    if (by == nullptr) return "no operator is called `" + op + "`";
    golden_attributes attributes(g.metadata("attrs"));
    by(g, attributes);
    attributes.all_used();
    std::printf("%-34s %s: %s\n", g.name().c_str(), op.c_str(), g.verdict().c_str());
    return g.worst() <= tolerance ? "" : "worst error " + std::to_string(g.worst());
  } catch (const std::exception& e) { return e.what(); }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(golden_ops)

BOOST_AUTO_TEST_CASE(golden_operators_agree_with_pytorch) {
  for (const std::string& path : golden_files("ops")) {
    const std::string wrong = complaint(path);
    BOOST_TEST(wrong.empty(), path << ": " << wrong);
  }
}

BOOST_AUTO_TEST_CASE(golden_files_that_nobody_can_judge_fail) {
  BOOST_TEST(complaint("there/is/no.safetensors") != "");
  BOOST_TEST((heavy_judge("frobnicate") == nullptr && loop_judge("frobnicate") == nullptr));
  golden_attributes a(R"({"axis": 1, "keepdim": true})");
  BOOST_TEST(a.get<int>("axis", 0) == 1);
  BOOST_CHECK_EXCEPTION(a.all_used(), std::runtime_error, [](const std::runtime_error& e) {
    return std::string(e.what()) == "attribute keepdim is not known";
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::kernels::testing
