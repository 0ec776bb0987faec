// A training run that PyTorch did, as files: data, initial and final weights, losses of each step.
#pragma once

#include "kernels/data/dataset.hpp"
#include "kernels/format/safetensors.hpp"
#include "proto/base/result.hpp"
#include "proto/job.hpp"

#include <memory>
#include <string>
#include <vector>

namespace perigee::test {

struct golden_run {
  specification spec;
  std::shared_ptr<const kernels::dataset> data;
  kernels::tensor_file initial;
  kernels::tensor_file final;
  std::vector<double> losses;
  std::vector<double> norms;  // empty = not recorded
};

/// Reads a folder with run.json, data.safetensors, model.onnx and final.safetensors. Fails with
/// `unsupported`, naming what, if the run is not of a form that can be judged.
result<golden_run> read_golden_run(const std::string& folder);

/// Returns a tensor's values as f32.
[[nodiscard]] std::vector<float> floats_of(const kernels::named_tensor& t);

}  // namespace perigee::test
