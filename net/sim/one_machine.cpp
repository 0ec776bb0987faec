#include "net/sim/one_machine.hpp"

#include "net/sim/values.hpp"

#include <algorithm>

namespace perigee::net {

namespace {

/// The totals of all layers over one mini-batch.
std::vector<std::uint64_t> totals_of(const specification& spec, const model_profile& model,
                                     std::uint64_t step, const std::vector<std::uint64_t>& states) {
  const std::size_t layers = model.layers.size();
  std::vector<std::uint64_t> totals(layers);
  for (std::size_t l = 0; l < layers; ++l) totals[l] = values::empty_total(l);
  for (std::uint64_t slice = 0; slice < model.slice_count; ++slice) {
    std::vector<std::uint64_t> sums(layers);
    for (std::size_t l = 0; l < layers; ++l) sums[l] = values::empty_slice(l, slice);
    const std::uint64_t end =
        std::min<std::uint64_t>((slice + 1) * model.slice_size, model.micro_batch_count);
    for (std::uint64_t m = slice * model.slice_size; m < end; ++m) {
      std::vector<std::uint64_t> inputs{values::samples(spec.seed, step, m)};
      for (std::size_t l = 0; l < layers; ++l) {
        inputs.push_back(values::forward({step, m, l}, states[l], inputs[l]));
      }
      std::uint64_t gradient = values::loss_gradient(inputs[layers]);
      for (std::size_t l = layers; l-- > 0;) {
        sums[l] =
            values::added(sums[l], values::weight_gradient({step, m, l}, inputs[l], gradient));
        sums[l] = values::added(sums[l], values::statistic({step, m, l}, inputs[l]));
        gradient = values::backward({step, m, l}, states[l], inputs[l], gradient);
      }
    }
    for (std::size_t l = 0; l < layers; ++l) totals[l] = values::folded(totals[l], slice, sums[l]);
  }
  return totals;
}

}  // namespace

final_values one_machine(const specification& spec, const model_profile& model) {
  const std::size_t layers = model.layers.size();
  final_values result;
  std::vector<std::uint64_t> states(layers);
  for (std::size_t l = 0; l < layers; ++l) states[l] = values::first_state(spec.seed, l);
  for (std::uint64_t step = 0; step < spec.steps; ++step) {
    const std::vector<std::uint64_t> totals = totals_of(spec, model, step, states);
    std::uint64_t measured = 0;
    for (std::size_t l = 0; l < layers; ++l) {
      measured = hash_of(measured, values::measure(l, totals[l]));
    }
    for (std::size_t l = 0; l < layers; ++l) {
      states[l] = values::applied(step, states[l], totals[l], measured);
    }
    result.loss_bits = values::loss_bits(totals.back());
  }
  for (const std::uint64_t state : states) result.states.push_back(values::digest(state));
  return result;
}

}  // namespace perigee::net
