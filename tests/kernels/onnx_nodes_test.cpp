// ONNX's own test cases: each is computed right or refused with a reason; the list is printed.
#include "kernels/format/onnx.hpp"
#include "tests/support/onnx_forward.hpp"
#include "tests/support/tar.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <map>
#include <set>

namespace perigee::test {

BOOST_AUTO_TEST_SUITE(onnx_nodes)

namespace {

using namespace kernels;
using archive = std::map<std::string, std::vector<std::byte>>;

struct verdict {
  bool passed = false;
  bool wrong = false;
  std::string why;
};

/// Returns how far the values are apart, as a share of 1 or of the expected value.
double distance(const ran& got, const named_tensor& want) {
  if (got.shape != want.shape || want.type != dtype::f32) return INFINITY;
  double worst = 0;
  for (std::size_t i = 0; i < got.values.size(); ++i) {
    float x = 0;
    std::memcpy(&x, want.data.data() + i * sizeof x, sizeof x);
    const double off = std::abs(double{got.values[i]} - x) / (1 + std::abs(double{x}));
    if (!(off <= worst)) worst = off;
  }
  return worst;
}

/// The inputs behind the first are what a model would hold as parameters.
result<ran> run_case(const archive& files, const std::string& folder) {
  auto graph = parse_onnx(files.at(folder + "/model.onnx"), folder, "");
  if (!graph) return graph.why();
  std::vector<named_tensor> inputs;
  for (std::size_t i = 0;; ++i) {
    const auto file = files.find(folder + "/test_data_set_0/input_" + std::to_string(i) + ".pb");
    if (file == files.end()) break;
    auto tensor = parse_onnx_tensor(file->second, folder);
    if (!tensor) return tensor.why();
    inputs.push_back(std::move(*tensor));
  }
  if (inputs.empty()) return error{errc::unsupported, "no inputs"};
  for (std::size_t i = 1; i < inputs.size() && i < graph->inputs.size(); ++i) {
    inputs[i].name = graph->inputs[i].name;
    graph->initializers.push_back(inputs[i]);
  }
  if (!graph->inputs.empty()) graph->inputs.resize(1);
  return run_onnx(*graph, inputs[0]);
}

verdict judged(const archive& files, const std::string& folder) {
  // What they drew nobody else draws.
  if (folder.ends_with("test_training_dropout") ||
      folder.ends_with("test_training_dropout_default"))
    return {false, false, "its answer is random"};
  const auto got = run_case(files, folder);
  if (!got) return {false, false, got.why().what};
  const auto want = parse_onnx_tensor(files.at(folder + "/test_data_set_0/output_0.pb"), folder);
  if (!want) return {false, false, want.why().what};
  const double off = distance(*got, *want);
  if (off <= 1e-4) return {true, false, ""};
  return {false, true, "off by " + std::to_string(off)};
}

/// Judges every case of an archive; returns how many passed.
std::size_t judge_archive(const std::string& path) {
  const archive files = read_tar(path);
  std::size_t passed = 0, refused = 0;
  for (const auto& [name, content] : files) {
    constexpr std::string_view ending = "/model.onnx";
    if (!name.ends_with(ending)) continue;
    const std::string folder = name.substr(0, name.size() - ending.size());
    const verdict v = judged(files, folder);
    BOOST_TEST(!v.wrong, folder << ": " << v.why);
    BOOST_TEST_MESSAGE((v.passed ? "passed  " : "refused ") << folder << "  " << v.why);
    v.passed ? ++passed : ++refused;
  }
  BOOST_TEST_MESSAGE(path << ": " << passed << " passed, " << refused << " refused by name");
  return passed;
}

}  // namespace

BOOST_AUTO_TEST_CASE(no_case_of_onnx_is_silently_wrong) {
  BOOST_TEST(judge_archive("../shared/data/onnx/onnx-node-subset.tar.gz") == 109U);
}

// All of these are of opset 6.
BOOST_AUTO_TEST_CASE(no_operator_of_pytorch_is_silently_wrong) {
  BOOST_TEST(judge_archive("../shared/data/onnx/onnx-pytorch-operator.tar.gz") == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::test
