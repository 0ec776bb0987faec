// What the submitter's wishes say of a plan's form, checked against the model and the peers there
// are.
//
// Guarantees  a shape that is returned can be met but for memory: stages, groups and shares add up.
// Threads     none; pure functions.
#pragma once

#include "proto/base/result.hpp"
#include "proto/job.hpp"
#include "proto/model_profile.hpp"

#include <cstddef>
#include <vector>

namespace perigee::planner {

/// Zero or empty = free.
struct plan_shape {
  std::uint32_t stages = 0;
  std::vector<std::uint32_t> sizes;                // members of each stage; one entry = of all
  std::vector<std::vector<std::uint32_t>> shares;  // slices of each member of each stage
  friend bool operator==(const plan_shape&, const plan_shape&) = default;
};

/// Fails with `infeasible`, naming the wish. Does not look at how many peers there are.
[[nodiscard]] result<plan_shape> shape_of(const wishes& wanted, const model_profile& model);

/// Returns how many peers a shape needs at least.
[[nodiscard]] std::size_t peers_needed(const plan_shape& shape) noexcept;

/// Returns e.g. `4 stages of 2 replicas need 8 peers`.
[[nodiscard]] std::string need_text(const plan_shape& shape);

}  // namespace perigee::planner
