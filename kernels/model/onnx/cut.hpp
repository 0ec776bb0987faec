// A model in one piece becomes a chain of layers: cut where few tensors cross.
//
// A layer ends where one tensor alone crosses, between two operators with weights; of several such
// places, where it is smallest, else at the last one. So a residual block stays whole. What is
// still longer than `whole_max` weighted operators (skips across a whole model) is cut where two
// tensors cross, then three, and so on: a boundary is then all of them, packed one behind the
// other, and what a layer only hands on is copied.
//
// Guarantees  a function of the operators alone: no plan shapes it.
// Threads     any; pure functions.
#pragma once

#include "kernels/model/graph.hpp"

#include <vector>

namespace perigee::kernels {

/// Weighted operators that stay in one layer although a cut across several tensors could part them.
inline constexpr std::size_t whole_max = 6;

/// A boundary of more tensors than this is not made.
inline constexpr std::size_t crossing_max = 16;

/// What the loss is taken of, in the model's one piece.
struct last_value {
  std::uint32_t logits = 0;
  std::int64_t rows = 0, classes = 0;
};

/// Cuts `whole`, whose value 0 is the samples; the last layer gets targets and loss.
[[nodiscard]] std::vector<layer_graph> cut_into_layers(const layer_graph& whole,
                                                       const last_value& last);

}  // namespace perigee::kernels
