// tensor_ref: the name of a tensor of a running job. Machines and messages speak of tensors by
// these names; the bytes stay with an `executor` (proto/executor.hpp).
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace perigee {

enum class tensor_kind : std::uint8_t {
  activation,           // the boundary before `layer`, of micro-batch `index`, on its way forward
  activation_gradient,  // the gradient of that boundary, on its way back
  gradient,             // the fold of `layer`'s reduction buffers over slices [0, index)
  state,  // everything a layer is: weights, moments, running statistics, after `step` steps
};

/// The name is the same whatever the plan, which is why a message of an old plan is still true.
struct tensor_ref {
  tensor_kind kind{};
  std::uint64_t step = 0;
  std::uint32_t layer = 0;
  std::uint32_t index = 0;  // micro-batch, or end of the slice range; 0 for a state
  friend auto operator<=>(const tensor_ref&, const tensor_ref&) = default;
};

/// Returns e.g. `activation 3@2 of step 17` (micro-batch 3 before layer 2), `gradient 5[0,2) of
/// step 17`.
[[nodiscard]] std::string text(const tensor_ref& ref);

}  // namespace perigee
