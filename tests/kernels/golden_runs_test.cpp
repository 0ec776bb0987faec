#include "tests/support/golden_training.hpp"

#include <boost/test/unit_test.hpp>

namespace perigee::test {

BOOST_AUTO_TEST_SUITE(golden_runs)

namespace {

/// Some of gpt's parameters, such as key biases, have no true gradient and end in rounding noise.
double share_of(const golden_run& run) {
  return run.spec.model.kind == model_kind::gpt ? 2e-3 : 2e-4;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_golden_run_takes_pytorchs_path) {
  const auto all = golden_folders();
  BOOST_TEST(!all.empty());
  for (const std::string& folder : all) {
    BOOST_TEST_CONTEXT(folder) {
      const auto run = read_golden_run(folder);
      BOOST_TEST_REQUIRE(bool(run), (run ? "" : run.why().what));
      check_golden_run(*run, share_of(*run));
    }
  }
}

BOOST_AUTO_TEST_CASE(every_golden_model_imported_from_its_file_takes_pytorchs_path) {
  for (const std::string& folder : golden_folders()) {
    BOOST_TEST_CONTEXT(folder) {
      auto run = read_golden_run(folder);
      BOOST_TEST_REQUIRE(bool(run), (run ? "" : run.why().what));
      const double share = share_of(*run);
      const std::uint32_t context = run->spec.model.context;
      run->spec.model = {};
      run->spec.model.kind = model_kind::onnx;
      run->spec.model.file = folder + "/model.onnx";
      run->spec.model.context = context;
      run->initial.tensors.clear();  // the file has them
      check_golden_run(*run, share);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::test
