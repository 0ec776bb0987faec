// Where each tensor of a layer lies in the layer's state and in its reduction buffers.
//
//   state      parameters | moments (each as long as the parameters) | running statistics
//   gradient   gradients  | running statistics | f64 loss, u64 targets counted       (on the wire)
//   slice      a gradient buffer (its running statistics unused) | batch statistics of each
//              micro-batch, in order
//
// Offsets and counts are of f32 values. Every tensor starts at a multiple of 64 bytes; what lies
// between is zero and stays zero, so whole buffers may be added, compared and digested.
//
// Threads  none is shared; layouts are values.
#pragma once

#include "kernels/model/graph.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace perigee::kernels {

struct parameter_place {
  std::size_t offset = 0;
  std::size_t count = 0;
};

/// One batch norm's [2, C]: mean, then variance.
struct running_place {
  std::string prefix;
  std::size_t offset = 0;  // from the start of the running statistics
  std::size_t channels = 0;
  double momentum = 0.1;  // the newest batch's share
};

struct layer_layout {
  std::vector<parameter_place> parameters;  // in node order; the same offsets in every buffer
  std::vector<running_place> running;       // in node order
  std::size_t parameter_floats = 0;
  std::size_t moments = 0;
  std::size_t running_floats = 0;  // also those of one micro-batch's batch statistics

  [[nodiscard]] std::size_t state_running() const noexcept {
    return parameter_floats * (1 + moments);
  }
  [[nodiscard]] std::size_t state_floats() const noexcept {
    return state_running() + running_floats;
  }
  [[nodiscard]] std::size_t loss() const noexcept { return parameter_floats + running_floats; }
  [[nodiscard]] std::size_t gradient_floats() const noexcept { return loss() + 16; }
  [[nodiscard]] std::size_t slice_floats(std::size_t micro_batches) const noexcept {
    return gradient_floats() + running_floats * micro_batches;
  }
};

/// The last 64 bytes of a gradient buffer.
struct loss_tail {
  double loss = 0;  // sum over the counted targets
  std::uint64_t counted = 0;
};

/// Returns the layout of a layer whose optimizer keeps `moments` values beside each parameter.
[[nodiscard]] layer_layout layout_of(const layer_graph& layer, std::size_t moments);

/// Returns all parameters of a layer in the order of the layout.
[[nodiscard]] std::vector<const parameter*> parameters_of(const layer_graph& layer);

}  // namespace perigee::kernels
