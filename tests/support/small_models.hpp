// One small job of each kind, with data drawn from a seed: for tests that train for a step or two.
#pragma once

#include "kernels/data/dataset.hpp"
#include "proto/job.hpp"

#include <memory>
#include <string>

namespace perigee::test {

struct small_job {
  specification spec;
  std::shared_ptr<const kernels::dataset> data;
  std::uint32_t layers = 0;
};

/// 6 layers of 5 hidden widths; images [2,4,4]; 7 micro-batches in slices of 2, the last one short.
[[nodiscard]] small_job small_mlp();
/// 5 layers: stem, three blocks at two resolutions, head; images [1,8,8]; 4 micro-batches, slices
/// of 1.
[[nodiscard]] small_job small_resnet();
/// 6 layers: two blocks; with dropout and clipping; 6 micro-batches in slices of 2.
[[nodiscard]] small_job small_gpt();

/// 7 layers from an ONNX file that is written to `path`: skips inside skips, so that up to three
/// tensors cross; images [2,6,6]; the batches are small_mlp's.
[[nodiscard]] small_job small_skips(const std::string& path);

}  // namespace perigee::test
