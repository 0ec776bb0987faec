// What a step of a plan will take: the planner's arithmetic of time.
//
//   lane      a micro-batch through layers l takes  sum_l (sum_class work / rate + kernels * cost)
//   member    its busiest lane's micro-batches times that, or its link's bytes if they take longer,
//             and the update of its layers
//   stage     its slowest member, then the reduction along the group's chain
//   step      bottleneck - one micro-batch of it + fill and drain + reduction: with M equal
//             micro-batches  (M - 1) * T + R + reduce,  where T is the slowest stage's micro-batch
//             or, if more, the round trip behind a stage over the micro-batches it may have under
//             way (Little's law)
//
// Source      the closed form of Asteroid's step model (Ye et al., 2024, equations 4 to 6).
// Guarantees  whole nanoseconds and saturating arithmetic only: the same on every peer.
// Threads     none; pure functions.
#pragma once

#include "proto/message.hpp"
#include "proto/model_profile.hpp"
#include "proto/plan.hpp"

#include <span>

namespace perigee::planner {

namespace limits {
using namespace std::chrono_literals;
inline constexpr duration kernel_cost = 2us;  // fixed cost of one kernel call on any worker
inline constexpr duration link_latency_default = 200us;  // of an unmeasured link
inline constexpr std::uint64_t link_bytes_per_second_default = 125'000'000;  // 1 Gb/s
}  // namespace limits

/// One link, each direction by itself.
struct link_estimate {
  duration latency = limits::link_latency_default;
  std::uint64_t bytes_per_second = limits::link_bytes_per_second_default;
  friend bool operator==(const link_estimate&, const link_estimate&) = default;
};

/// A micro-batch on one lane: both directions.
struct lane_time {
  duration forward{};
  duration backward{};
  [[nodiscard]] constexpr duration both() const noexcept { return forward + backward; }
  friend bool operator==(const lane_time&, const lane_time&) = default;
};

/// Returns how long `operations` take at `rate`; a class that is used but has no rate runs at one
/// operation a second.
[[nodiscard]] duration work_time(const work& operations, const speed& rate) noexcept;

[[nodiscard]] lane_time layer_time(const layer_profile& layer, const speed& rate) noexcept;

/// Returns what one micro-batch takes through layers [first, first + count).
[[nodiscard]] lane_time layers_time(const model_profile& model, std::uint32_t first,
                                    std::uint32_t count, const speed& rate) noexcept;

/// Returns what folding, updating and hashing a layer takes one worker, once a step.
[[nodiscard]] duration update_time(const layer_profile& layer, const speed& rate) noexcept;

/// Returns latency + size / bandwidth.
[[nodiscard]] duration link_time(bytes size, const link_estimate& link) noexcept;

/// Returns how long the gradients of layers [first, first + count) take along a chain of `members`
/// and the totals back: layer by layer, both directions at once. Zero for one member.
[[nodiscard]] duration reduce_time(const model_profile& model, std::uint32_t first,
                                   std::uint32_t count, std::uint32_t members,
                                   const link_estimate& link) noexcept;

/// Returns the micro-batches of a member's busiest lane.
[[nodiscard]] std::uint32_t busiest_lane(const model_profile& model, const member& who) noexcept;

/// What layers of a stage ask of one worker and its link.
struct stage_load {
  duration micro_batch{};  // forward and backward of one
  duration update{};       // of all its layers, once a step
  bytes crossing;          // of each micro-batch, in each direction
};

[[nodiscard]] stage_load load_of(const model_profile& model, std::uint32_t layer_first,
                                 std::uint32_t layer_count, const speed& rate) noexcept;

/// Returns how long a member is busy in a step, without the reduction.
[[nodiscard]] duration member_time(const model_profile& model, const stage_load& load,
                                   const member& who, const link_estimate& link) noexcept;

/// The parts of a predicted step.
struct step_cost {
  duration total{};
  duration bottleneck{};  // the slowest stage with its reduction: what a partition minimizes
  std::uint32_t bottleneck_stage = 0;
  duration fill_and_drain{};  // one micro-batch through all stages and back
  duration reduction{};       // of the slowest chain
  friend bool operator==(const step_cost&, const step_cost&) = default;
};

/// Returns what a step of `p` takes; `peers` knows every participant.
[[nodiscard]] step_cost cost_of(const model_profile& model, const plan& p,
                                std::span<const peer_record> peers, const link_estimate& link);

}  // namespace perigee::planner
