#include "kernels/fold.hpp"

#include "kernels/layer_runner.hpp"

#include <algorithm>
#include <cstring>

namespace perigee::kernels {

namespace {

void fold_running(const layer_layout& layout, float* running, const float* statistics) noexcept {
  for (const running_place& r : layout.running)
    for (std::size_t i = r.offset; i < r.offset + 2 * r.channels; ++i)
      running[i] = static_cast<float>((1 - r.momentum) * double{running[i]} +
                                      r.momentum * double{statistics[i]});
}

void add_slice(const layer_layout& layout, std::span<float> total, const float* slice,
               std::uint32_t micro_batches) noexcept {
  add(total.first(layout.parameter_floats), slice);
  float* running = total.data() + layout.parameter_floats;
  const float* statistics = slice + layout.gradient_floats();
  for (std::uint32_t m = 0; m < micro_batches; ++m)
    fold_running(layout, running, statistics + m * layout.running_floats);
  add_loss(layout, total.data(), loss_of(layout, slice));
}

}  // namespace

void begin_total(const layer_layout& layout, std::span<float> total,
                 const float* running) noexcept {
  std::fill(total.begin(), total.end(), 0.0F);
  std::copy_n(running, layout.running_floats, total.data() + layout.parameter_floats);
}

void fold_slices(const layer_layout& layout, std::span<float> total, std::span<float* const> slices,
                 std::span<const std::uint32_t> micro_batches, sabotage wrong) noexcept {
  const std::size_t count = slices.size() - (wrong == sabotage::dropped_slice ? 1 : 0);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = wrong == sabotage::reversed_fold ? count - 1 - i : i;
    if (wrong == sabotage::statistics_twice)
      fold_running(layout, total.data() + layout.parameter_floats,
                   slices[at] + layout.gradient_floats());
    add_slice(layout, total, slices[at], micro_batches[at]);
  }
}

loss_tail loss_of(const layer_layout& layout, const float* buffer) noexcept {
  loss_tail tail;
  std::memcpy(static_cast<void*>(&tail), buffer + layout.loss(), sizeof tail);
  return tail;
}

void add_loss(const layer_layout& layout, float* buffer, const loss_tail& more) noexcept {
  loss_tail tail = loss_of(layout, buffer);
  tail.loss += more.loss;
  tail.counted += more.counted;
  std::memcpy(buffer + layout.loss(), &tail, sizeof tail);
}

}  // namespace perigee::kernels
