// Runs an operator as a stage would, but unkindly: memory that it must not read is poisoned or not
// there at all.
#pragma once

#include "kernels/ops/ops.hpp"
#include "proto/base/random.hpp"

#include <functional>
#include <vector>

namespace perigee::kernels::testing {

using values = std::vector<float>;

/// What one run is given. Input i is `numbers[i]` where that is not empty, else `in[i]`.
struct operands {
  std::vector<values> in;
  std::vector<std::vector<std::int32_t>> numbers;
  std::vector<values> param, dout;
  std::uint64_t seed = 1, step = 0;
  std::uint32_t micro_batch = 0;
  double loss_scale = 1;

  [[nodiscard]] const void* input(std::size_t i) const {
    return i < numbers.size() && !numbers[i].empty() ? static_cast<const void*>(numbers[i].data())
                                                     : in[i].data();
  }
};

struct results {
  std::vector<values> out, din, dparam;  // din is empty where it was not asked for
  values statistics;
  double loss = 0;
  friend bool operator==(const results&, const results&) = default;
};

/// What parameters' gradients hold before a run: backward adds to it.
inline constexpr float gradient_before = 0.5F;

/// How a run departs from the plain one.
struct manner {
  bool in_place = false;      // out[0] is in[0]'s memory, din[0] is dout[0]'s
  std::vector<bool> without;  // inputs whose gradient is not wanted
  float before = gradient_before;
};

/// Forward, backward for inputs, backward for weights. Outputs, saved and scratch memory start as
/// NaNs; an input or output that backward does not declare to read is null then.
results run(op& subject, const operands& given, const manner& how = {});

/// The same by plain loops.
using plain_loops = std::function<void(const op_call&)>;
results run_plainly(const op_needs& needs, const operands& given, const plain_loops& forward,
                    const plain_loops& backward);

/// Returns the largest difference, as a share of the largest expected value.
[[nodiscard]] double worst_error(const values& got, const values& expected);

/// Returns normal deviates; of (seed, stream).
[[nodiscard]] values deviates(std::size_t count, std::uint64_t seed, std::uint64_t stream);

}  // namespace perigee::kernels::testing
