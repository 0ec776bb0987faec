// A model of the list as an ONNX file, with given weights: what other programs run, and what
// perigee itself imports again.
//
// Guarantees  opset 17, the first dimension open; images are [N,C,H,W]; parameters keep their
//             names.
// Threads     any; pure functions.
#pragma once

#include "kernels/data/dataset.hpp"
#include "kernels/format/safetensors.hpp"
#include "proto/job.hpp"

#include <cstddef>
#include <vector>

namespace perigee::kernels {

/// Of a model that came as a file itself, the file with the weights replaced. Fails as the builders
/// do, with `malformed` if a weight is missing or of another shape, or with `unsupported` beyond
/// 2 GiB.
result<std::vector<std::byte>> onnx_file_of(const specification& spec, const dataset_info& data,
                                            const tensor_file& weights);

}  // namespace perigee::kernels
