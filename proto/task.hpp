// A task: one piece of computing that a machine asks of an executor's lane, and what came of it.
#pragma once

#include "proto/base/units.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace perigee {

enum class task_kind : std::uint8_t {
  forward,   // micro-batch `index` through all layers of the stage; needs its activation (or, first
             // stage, samples)
  backward,  // micro-batch `index` back through the stage, for inputs and weights; adds to its
             // slice's gradient
  fold,  // layer `index`: adds this peer's slices, in slice order, to the total that came from the
         // left
  measure,  // layer `index`, whose total gradient is here: its `values` are what `apply` needs from
            // all layers
  apply,    // layer `index`: one optimizer update; `values` are those of all layers, in layer order
};

struct task {
  task_kind kind{};
  std::uint64_t step = 0;             // counts from 0
  std::uint32_t index = 0;            // a micro-batch or a layer of the model, as the kind says
  std::vector<std::uint64_t> values;  // apply only; opaque: nobody but the executor reads them
  friend bool operator==(const task&, const task&) = default;
};

/// Where a value stopped being finite. `layer` indexes the model's layers.
struct non_finite {
  std::uint32_t layer = 0;
  std::uint32_t micro_batch = 0;  // of a gradient found by `measure`: the count of micro-batches
  friend bool operator==(const non_finite&, const non_finite&) = default;
};

struct outcome {
  bool finite = true;
  non_finite where{};  // if not finite
  /// measure: opaque figures for `apply` (sums of squares; of the last layer also the loss as
  /// below). apply: the two halves of the digest of the layer's new state.
  std::vector<std::uint64_t> values;
  /// measure of the model's last layer: bits of the f64 mean loss of the mini-batch, and targets
  /// counted.
  std::uint64_t loss_bits = 0;
  std::uint64_t counted = 0;
  duration elapsed{};  // lane time; the machines only report it
  friend bool operator==(const outcome&, const outcome&) = default;
};

/// Returns e.g. `forward 3 of step 17`.
[[nodiscard]] std::string text(const task& t);
[[nodiscard]] std::string text(const outcome& o);

}  // namespace perigee
