// A trained model's weights as named tensors: from states to a file under PyTorch's names.
//
// Threads  any; pure functions of their arguments and of the files that the specification names.
#pragma once

#include "kernels/data/dataset.hpp"
#include "kernels/format/safetensors.hpp"
#include "proto/job.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace perigee::kernels {

/// Returns parameters and running statistics (no moments) of one layer's state. The variant with
/// `dataset_info` does not open the data. Fails with `malformed` if there is no such layer or the
/// state has another size.
result<std::vector<named_tensor>> parameters_of(const specification& spec, std::uint32_t layer,
                                                std::span<const std::byte> state);
result<std::vector<named_tensor>> parameters_of(const specification& spec, const dataset_info& data,
                                                std::uint32_t layer,
                                                std::span<const std::byte> state);

/// Returns how large the state of each layer is.
result<std::vector<bytes>> state_sizes(const specification& spec, const dataset_info& data);

/// Returns the whole model's file from the states of all its layers, in layer order.
result<tensor_file> weights_of(const specification& spec, const dataset_info& data,
                               std::span<const std::span<const std::byte>> states);

/// Returns whether the weights that a job begins with, if it names any, are those of its model.
/// Fails with `malformed` (the file, the tensor and what is wrong with it) or `io`.
result<void> check_initial_weights(const specification& spec);

/// Returns the digest of a whole file's bytes.
result<digest128> content_of(const std::string& path);

}  // namespace perigee::kernels
