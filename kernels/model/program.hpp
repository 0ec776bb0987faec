// A program: where every value, gradient and scratch of a layer lives during its two passes.
//
// A value is kept from forward to backward only if some operator's backward reads it; all others,
// and all gradients inside the layer, share one transient region by their lifetimes. An operator
// that may work in place does so when nobody else needs what it overwrites. The gradient of a value
// that is used several times is added from its last use to its first.
//
// Guarantees  a function of the layer and its operators alone: no plan shapes it.
// Threads     none is shared; programs are values.
#pragma once

#include "kernels/model/graph.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace perigee::kernels {

/// The buffers that a pass is given.
enum class region : std::uint8_t {
  none,
  input,            // the boundary before the layer, or samples
  targets,          // last layer
  output,           // the boundary behind the layer
  kept,             // from forward to backward
  transient,        // within a pass; the operators' scratch is at its start
  input_gradient,   // of the boundary before the layer
  output_gradient,  // of the boundary behind it; may be overwritten
};
inline constexpr std::size_t region_count = 8;

/// Bytes from the start of a region.
struct spot {
  region where = region::none;
  std::size_t offset = 0;
};

/// Where the gradient of one input goes; `sum` is set if another use wrote there before, and `to`
/// is then a place for this use's own part.
struct input_gradient_plan {
  spot to;
  spot sum;
};

struct node_program {
  std::vector<std::size_t> saved;  // offsets in `kept`
  std::size_t packed = 0;          // offset in the layer's packed weights
  std::size_t parameter_first = 0;
  std::size_t running = 0;               // which batch norm of the layer, if it is one
  bool runs_backward = false;            // something before it, or it itself, wants a gradient
  std::vector<input_gradient_plan> din;  // for each input
};

struct layer_program {
  std::vector<spot> values;
  std::vector<spot> gradients;  // of each value, when complete
  std::vector<node_program> nodes;
  std::size_t kept_bytes = 0;
  std::size_t transient_bytes = 0;
  std::size_t packed_bytes = 0;
};

enum class layer_role : std::uint8_t { first, later };

/// The first layer's input is data and wants no gradient.
[[nodiscard]] layer_program program_of(const layer_graph& layer, std::span<const op_ptr> operators,
                                       layer_role role);

}  // namespace perigee::kernels
