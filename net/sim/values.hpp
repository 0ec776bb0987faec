// What the simulator computes instead of tensors: 64-bit values, each the hash of its name and
// inputs. Two runs that add, order or share anything differently end in other values.
//
// Guarantees  every function is order-sensitive; a slice's sum names its slice, a total its range.
// Threads     none; pure functions.
#pragma once

#include "proto/base/hash.hpp"
#include "proto/base/id.hpp"

#include <bit>
#include <cstdint>

namespace perigee::net::values {

inline constexpr std::uint64_t of_state = hash_of("state");
inline constexpr std::uint64_t of_samples = hash_of("samples");
inline constexpr std::uint64_t of_forward = hash_of("forward");
inline constexpr std::uint64_t of_backward = hash_of("backward");
inline constexpr std::uint64_t of_gradient = hash_of("gradient");
inline constexpr std::uint64_t of_statistic = hash_of("statistic");
inline constexpr std::uint64_t of_slice = hash_of("slice");
inline constexpr std::uint64_t of_total = hash_of("total");
inline constexpr std::uint64_t of_measure = hash_of("measure");
inline constexpr std::uint64_t of_apply = hash_of("apply");
inline constexpr std::uint64_t of_loss = hash_of("loss");

constexpr std::uint64_t first_state(std::uint64_t seed, std::uint64_t layer) {
  return hash_of(of_state, seed, layer);
}
constexpr std::uint64_t samples(std::uint64_t seed, std::uint64_t step, std::uint64_t micro_batch) {
  return hash_of(of_samples, seed, step, micro_batch);
}

/// A layer's pass: the step and the micro-batch are inputs too, as they are of dropout.
struct pass_name {
  std::uint64_t step = 0;
  std::uint64_t micro_batch = 0;
  std::uint64_t layer = 0;
};
constexpr std::uint64_t forward(const pass_name& at, std::uint64_t state, std::uint64_t input) {
  return hash_of(of_forward, at.step, at.micro_batch, at.layer, state, input);
}
constexpr std::uint64_t loss_gradient(std::uint64_t output) { return hash_of(of_loss, output); }
constexpr std::uint64_t backward(const pass_name& at, std::uint64_t state, std::uint64_t input,
                                 std::uint64_t gradient) {
  return hash_of(of_backward, at.step, at.micro_batch, at.layer, state, input, gradient);
}
/// What one micro-batch adds to its slice: a gradient, and a statistic of the batch.
constexpr std::uint64_t weight_gradient(const pass_name& at, std::uint64_t input,
                                        std::uint64_t gradient) {
  return hash_of(of_gradient, at.step, at.micro_batch, at.layer, input, gradient);
}
constexpr std::uint64_t statistic(const pass_name& at, std::uint64_t input) {
  return hash_of(of_statistic, at.step, at.micro_batch, at.layer, input);
}

constexpr std::uint64_t empty_slice(std::uint64_t layer, std::uint64_t slice) {
  return hash_of(of_slice, layer, slice);
}
constexpr std::uint64_t added(std::uint64_t slice_sum, std::uint64_t part) {
  return hash_of(slice_sum, part);
}
constexpr std::uint64_t empty_total(std::uint64_t layer) { return hash_of(of_total, layer); }
/// The total over slices [0, slice + 1).
constexpr std::uint64_t folded(std::uint64_t total, std::uint64_t slice, std::uint64_t slice_sum) {
  return hash_of(of_total, total, slice, slice_sum);
}

constexpr std::uint64_t measure(std::uint64_t layer, std::uint64_t total) {
  return hash_of(of_measure, layer, total);
}
/// The bits of an f64 in [1, 2) that stands for the mean loss.
constexpr std::uint64_t loss_bits(std::uint64_t total) {
  return (std::uint64_t{0x3ff} << 52U) | (hash_of(of_loss, total) >> 12U);
}
constexpr std::uint64_t applied(std::uint64_t step, std::uint64_t state, std::uint64_t total,
                                std::uint64_t all_measured) {
  return hash_of(of_apply, step, state, total, all_measured);
}
constexpr digest128 digest(std::uint64_t state) {
  return {hash_of(state, std::uint64_t{1}), hash_of(state, std::uint64_t{2})};
}

}  // namespace perigee::net::values
