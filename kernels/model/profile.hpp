// What the planner needs to know of one layer, taken from its graph, layout and built operators.
//
// Threads  any; pure functions.
#pragma once

#include "kernels/model/graph.hpp"
#include "kernels/model/layout.hpp"
#include "kernels/model/program.hpp"
#include "proto/job.hpp"
#include "proto/model_profile.hpp"

#include <span>

namespace perigee::kernels {

/// Builds every operator of a layer; the error names the layer and its operator.
result<std::vector<op_ptr>> build_operators(const layer_graph& layer);

[[nodiscard]] layer_profile profile_of(const layer_graph& layer, const layer_layout& layout,
                                       const layer_program& program,
                                       std::span<const op_ptr> operators);

/// Returns a profile with the sizes of the job's batches and `layers` blank layers.
[[nodiscard]] model_profile blank_profile(const specification& spec, std::size_t layers);

}  // namespace perigee::kernels
