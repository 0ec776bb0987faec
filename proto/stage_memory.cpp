#include "proto/stage_memory.hpp"

#include "proto/base/check.hpp"

#include <algorithm>
#include <span>

namespace perigee {

namespace {

constexpr bytes rounded(bytes size) noexcept { return {(size.count + 63) / 64 * 64}; }

std::span<const layer_profile> layers_of(const model_profile& m, const stage& s) {
  CHECK(s.layer_count > 0);
  CHECK(s.layer_first + s.layer_count <= m.layers.size());
  return {m.layers.data() + s.layer_first, s.layer_count};
}

bytes lane_bytes(std::span<const layer_profile> layers) {
  bytes transient, boundary;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    transient = std::max(transient, rounded(layers[i].transient));
    if (i + 1 < layers.size()) boundary = std::max(boundary, rounded(layers[i].output));
  }
  return transient + boundary * std::min<std::uint64_t>(2, layers.size() - 1);
}

bytes slot_bytes(std::span<const layer_profile> layers, bool last) {
  // Samples of the first layer and the gradient that leaves any other one are of one size.
  bytes sum = rounded(layers.front().input);
  for (const auto& layer : layers) sum += rounded(layer.kept) + rounded(layer.output);
  return last ? sum : sum + rounded(layers.back().output);
}

}  // namespace

std::uint32_t micro_batches_of(const model_profile& m, slice_range slices) noexcept {
  const auto clamped = [&](std::uint64_t slice) {
    return std::min<std::uint64_t>(slice * m.slice_size, m.micro_batch_count);
  };
  const std::uint64_t end = std::uint64_t{slices.first} + slices.count;
  return static_cast<std::uint32_t>(clamped(end) - clamped(slices.first));
}

std::uint32_t slots_of_lane(const model_profile& m, const stage& s, const member& who,
                            std::uint32_t lane) noexcept {
  const std::uint64_t wanted = std::uint64_t{s.in_flight_max} + 1;
  const std::uint32_t own = micro_batches_of(m, slices_of_lane(who, lane));
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, own));
}

std::uint32_t input_slots_of(const model_profile& m, const plan& p, const place& where) noexcept {
  if (where.stage == 0) return 0;
  const member& self = p.stages[where.stage].group[where.index];
  const stage& upstream = p.stages[where.stage - 1];
  std::uint64_t bound = 0;
  for (const auto& member : upstream.group)
    for (std::uint32_t lane = 0; lane < lane_count(member); ++lane)
      bound += slots_of_lane(m, upstream, member, lane);
  const std::uint32_t own = micro_batches_of(m, {self.slice_first, self.slice_count});
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(bound, own));
}

memory_account account_of(const model_profile& m, const plan& p, const place& where) {
  CHECK(where.stage < p.stages.size() && where.index < p.stages[where.stage].group.size());
  const stage& s = p.stages[where.stage];
  const member& self = s.group[where.index];
  const auto layers = layers_of(m, s);
  const bool last = s.layer_first + s.layer_count == m.layers.size();

  memory_account a;
  bytes gradients, slice;
  for (const auto& layer : layers) {
    a.states += rounded(layer.state) + rounded(layer.packed);
    gradients += rounded(layer.gradient);
    slice += rounded(layer.gradient) + rounded(layer.statistics) * m.slice_size;
  }
  a.totals = gradients * totals_of(where.index, static_cast<std::uint32_t>(s.group.size()));
  a.slices = slice * self.slice_count;
  a.lanes = lane_bytes(layers) * lane_count(self);
  for (std::uint32_t lane = 0; lane < lane_count(self); ++lane)
    a.slots += slot_bytes(layers, last) * slots_of_lane(m, s, self, lane);
  a.inputs = rounded(layers.front().input) * input_slots_of(m, p, where);
  return a;
}

bytes stage_memory(const model_profile& m, const plan& p, const place& where) {
  constexpr std::uint64_t page = 4096;
  return {(total(account_of(m, p, where)).count + page - 1) / page * page};
}

}  // namespace perigee
