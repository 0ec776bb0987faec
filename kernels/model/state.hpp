// How a layer's state begins, and how it is read from and written to named tensors.
//
// Guarantees  a drawn parameter is a function of (seed, its name) alone; a tensor read must have
//             the name, type and shape that the model gives it.
// Threads     any; works on what it is given.
#pragma once

#include "kernels/format/safetensors.hpp"
#include "kernels/model/graph.hpp"
#include "kernels/model/layout.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace perigee::kernels {

/// Draws the parameters of a layer into its state; running means 0, running variances 1.
void draw_state(const layer_graph& layer, const layer_layout& layout, std::uint64_t seed,
                std::span<float> state);

/// Reads the parameters and running statistics of a layer; leaves the rest of the state. Fails with
/// `malformed` and the tensor's name if it is missing or of another type or shape.
result<void> read_state(const layer_graph& layer, const layer_layout& layout,
                        const tensor_file& file, std::span<float> state);

/// Returns the parameters and running statistics of a layer under PyTorch's names.
[[nodiscard]] std::vector<named_tensor> written_state(const layer_graph& layer,
                                                      const layer_layout& layout,
                                                      std::span<const float> state);

}  // namespace perigee::kernels
