// What the planner needs to know of a model: a chain of layers with work, bytes and boundaries.
//
// All figures are for one micro-batch and follow from the specification alone, so every peer
// computes the same ones.
#pragma once

#include "proto/base/units.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace perigee {

/// Kinds of work that a device does at different speeds.
enum class work_class : std::uint8_t { matrix, convolution, depthwise, memory };
inline constexpr std::size_t work_class_count = 4;

/// Operations by class: floating-point operations, for `memory` bytes moved.
using work = std::array<std::uint64_t, work_class_count>;

/// Operations (bytes) a second by class, of one worker.
using speed = std::array<std::uint64_t, work_class_count>;

struct layer_profile {
  std::string name;  // as in the parameter names, e.g. `blocks.0`
  work forward{};
  work backward{};                 // for inputs and weights together
  std::uint32_t kernel_count = 0;  // kernels a forward pass launches
  bytes parameters;                // weights alone
  bytes state;                     // weights, optimizer moments, running statistics
  bytes gradient;   // one reduction buffer as it travels: gradients, running statistics, loss
  bytes kept;       // what forward keeps for backward, without the layer's input and output
  bytes transient;  // scratch and values that live within one pass of this layer
  bytes input;      // the boundary before this layer; of the first layer: its samples
  bytes output;     // the boundary behind it; of the last layer: 0
  std::uint32_t parameter_count = 0;  // tensors
  bytes packed;                       // a second copy of weights, in the layout that kernels like
  bytes statistics;  // batch statistics of one micro-batch: a slice keeps one for each of its own
  friend bool operator==(const layer_profile&, const layer_profile&) = default;
};

struct model_profile {
  std::vector<layer_profile> layers;
  std::uint32_t micro_batch_count = 0;
  std::uint32_t slice_size = 0;
  std::uint32_t slice_count = 0;
  std::uint32_t micro_batch_samples = 0;
  friend bool operator==(const model_profile&, const model_profile&) = default;
};

}  // namespace perigee
