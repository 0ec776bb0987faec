#include "planner/plan/cost_model.hpp"

#include "proto/base/check.hpp"
#include "proto/stage_memory.hpp"

#include <algorithm>
#include <limits>

namespace perigee::planner {

namespace {

__extension__ using wide = unsigned __int128;

constexpr std::uint64_t nanoseconds_per_second = 1'000'000'000;
/// Saturation stays this far below the type's end, so that sums of some thousand times are safe.
constexpr std::int64_t time_max = std::numeric_limits<std::int64_t>::max() / 65536;

duration saturated(wide nanoseconds) noexcept {
  return duration{nanoseconds > static_cast<wide>(time_max)
                      ? time_max
                      : static_cast<std::int64_t>(nanoseconds)};
}

/// Returns amount / rate in nanoseconds, not saturated.
wide quotient(std::uint64_t amount, std::uint64_t rate) noexcept {
  return static_cast<wide>(amount) * nanoseconds_per_second / std::max<std::uint64_t>(rate, 1);
}

duration times(duration each, std::uint64_t count) noexcept {
  return saturated(static_cast<wide>(each.count()) * count);
}

constexpr std::size_t memory_class = static_cast<std::size_t>(work_class::memory);

const peer_record& record_of(std::span<const peer_record> peers, peer_id who) {
  const auto at = std::find_if(peers.begin(), peers.end(),
                               [who](const peer_record& record) { return record.peer == who; });
  CHECK(at != peers.end());
  return *at;
}

}  // namespace

duration work_time(const work& operations, const speed& rate) noexcept {
  wide sum = 0;
  for (std::size_t c = 0; c < work_class_count; ++c) sum += quotient(operations[c], rate[c]);
  return saturated(sum);
}

lane_time layer_time(const layer_profile& layer, const speed& rate) noexcept {
  // A backward pass launches two kernels for each of the forward pass: for inputs, for weights.
  const duration calls = times(limits::kernel_cost, layer.kernel_count);
  return {work_time(layer.forward, rate) + calls, work_time(layer.backward, rate) + calls * 2};
}

lane_time layers_time(const model_profile& model, std::uint32_t first, std::uint32_t count,
                      const speed& rate) noexcept {
  lane_time sum;
  for (std::uint32_t l = first; l < first + count; ++l) {
    const lane_time each = layer_time(model.layers[l], rate);
    sum.forward += each.forward;
    sum.backward += each.backward;
  }
  return sum;
}

duration update_time(const layer_profile& layer, const speed& rate) noexcept {
  // The fold reads and writes a buffer, the update reads the gradient and reads and writes the
  // state, the digest reads the state once more.
  return saturated(quotient(3 * (layer.gradient.count + layer.state.count), rate[memory_class]));
}

duration link_time(bytes size, const link_estimate& link) noexcept {
  return link.latency + saturated(quotient(size.count, link.bytes_per_second));
}

duration reduce_time(const model_profile& model, std::uint32_t first, std::uint32_t count,
                     std::uint32_t members, const link_estimate& link) noexcept {
  if (members < 2) return duration{};
  bytes sum;
  bytes largest;
  for (std::uint32_t l = first; l < first + count; ++l) {
    sum += model.layers[l].gradient;
    largest = std::max(largest, model.layers[l].gradient);
  }
  // The layers stream behind one another; the last one still has the other hops of the way there
  // and back to go.
  const std::uint64_t hops = 2 * (std::uint64_t{members} - 1);
  return times(link.latency, hops) +
         saturated(quotient(sum.count, link.bytes_per_second) +
                   quotient(largest.count, link.bytes_per_second) * (hops - 1));
}

std::uint32_t busiest_lane(const model_profile& model, const member& who) noexcept {
  // Larger lanes come first and only the last one can end with the short slice.
  return micro_batches_of(model, slices_of_lane(who, 0));
}

stage_load load_of(const model_profile& model, std::uint32_t layer_first, std::uint32_t layer_count,
                   const speed& rate) noexcept {
  const std::uint32_t end = layer_first + layer_count;
  stage_load load;
  load.micro_batch = layers_time(model, layer_first, layer_count, rate).both();
  for (std::uint32_t l = layer_first; l < end; ++l) {
    load.update += update_time(model.layers[l], rate);
  }
  if (layer_first > 0) load.crossing += model.layers[layer_first].input;
  if (end < model.layers.size()) load.crossing += model.layers[end - 1].output;
  return load;
}

duration member_time(const model_profile& model, const stage_load& load, const member& who,
                     const link_estimate& link) noexcept {
  const std::uint32_t all = micro_batches_of(model, {who.slice_first, who.slice_count});
  const duration carrying = saturated(quotient(load.crossing.count, link.bytes_per_second) * all);
  return std::max(times(load.micro_batch, busiest_lane(model, who)), carrying) +
         load.update / std::max<std::int64_t>(lane_count(who), 1);
}

namespace {

/// What one stage contributes to a step.
struct stage_times {
  duration slowest{};  // its slowest member
  duration once{};     // one micro-batch, at its slowest member
  duration reduction{};
  duration hop{};                   // to the stage before it and back
  std::uint32_t micro_batches = 0;  // of its busiest lane
};

stage_times times_of(const model_profile& model, const stage& s, std::span<const peer_record> peers,
                     const link_estimate& link) {
  stage_times t;
  for (const member& who : s.group) {
    const stage_load load =
        load_of(model, s.layer_first, s.layer_count, record_of(peers, who.peer).rate);
    t.slowest = std::max(t.slowest, member_time(model, load, who, link));
    t.once = std::max(t.once, load.micro_batch);
    t.micro_batches = std::max(t.micro_batches, busiest_lane(model, who));
  }
  const auto members = static_cast<std::uint32_t>(s.group.size());
  t.reduction = reduce_time(model, s.layer_first, s.layer_count, members, link);
  if (s.layer_first > 0) t.hop = link_time(model.layers[s.layer_first].input, link) * 2;
  return t;
}

}  // namespace

step_cost cost_of(const model_profile& model, const plan& p, std::span<const peer_record> peers,
                  const link_estimate& link) {
  step_cost cost;
  duration waiting{};     // the busiest stage beyond its one micro-batch in fill and drain
  duration round_trip{};  // of a micro-batch, from the stage before here to the end and back
  for (std::size_t s = p.stages.size(); s-- > 0;) {
    const stage_times here = times_of(model, p.stages[s], peers, link);
    if (here.slowest + here.reduction >= cost.bottleneck) {
      cost.bottleneck = here.slowest + here.reduction;
      cost.bottleneck_stage = static_cast<std::uint32_t>(s);
    }
    round_trip += here.once;
    // A lane starts a micro-batch only when one of the `in_flight_max` before it is back.
    const duration paced = times(round_trip, here.micro_batches - 1) /
                           std::max<duration::rep>(p.stages[s].in_flight_max, 1);
    waiting = std::max({waiting, here.slowest - here.once, paced});
    round_trip += here.hop;
    cost.reduction = std::max(cost.reduction, here.reduction);
  }
  cost.fill_and_drain = round_trip;
  cost.total = waiting + cost.fill_and_drain + cost.reduction;
  return cost;
}

}  // namespace perigee::planner
