#include "kernels/stage_rooms.hpp"

#include "proto/base/check.hpp"

#include <algorithm>
#include <utility>

namespace perigee::kernels {

using guard = std::lock_guard<std::mutex>;

stage_rooms::stage_rooms(rooms_shape shape, std::vector<layer_rooms> layers,
                         std::vector<std::vector<micro_slot>> lanes, std::vector<input_slot> inputs)
    : shape_(shape),
      layers_(std::move(layers)),
      lanes_(std::move(lanes)),
      inputs_(std::move(inputs)),
      forwards_(shape.micro_end - shape.micro_first) {}

// --- looking up
// -----------------------------------------------------------------------------------

std::uint32_t stage_rooms::layer_end() const noexcept {
  return shape_.layer_first + shape_.layer_count;
}

layer_rooms* stage_rooms::layer_of(std::uint32_t layer) noexcept {
  if (layer < shape_.layer_first || layer >= layer_end()) return nullptr;
  return &layers_[layer - shape_.layer_first];
}

micro_slot* stage_rooms::slot_of(const tensor_ref& ref) noexcept {
  for (auto& lane : lanes_)
    for (micro_slot& slot : lane)
      if (slot.now != micro_slot::phase::empty && slot.step == ref.step &&
          slot.micro_batch == ref.index)
        return &slot;
  return nullptr;
}

input_slot* stage_rooms::input_of(const tensor_ref& ref) noexcept {
  for (input_slot& input : inputs_)
    if (input.now != input_slot::phase::empty && input.step == ref.step &&
        input.micro_batch == ref.index)
      return &input;
  return nullptr;
}

total_slot* stage_rooms::total_at(layer_rooms& l, std::uint64_t step,
                                  std::uint32_t index) noexcept {
  for (total_slot& total : l.totals)
    if (total.now != total_slot::phase::empty && total.step == step && total.index == index)
      return &total;
  return nullptr;
}

total_slot* stage_rooms::empty_total(layer_rooms& l) noexcept {
  for (total_slot& total : l.totals)
    if (total.now == total_slot::phase::empty) return &total;
  return nullptr;
}

void stage_rooms::settle(micro_slot& slot) const noexcept {
  const bool left = shape_.first_stage || slot.gradient_left;
  if (slot.now == micro_slot::phase::leaving && left && slot.output_holds == 0 &&
      slot.gradient_holds == 0)
    slot.now = micro_slot::phase::empty;
}

void stage_rooms::settle(total_slot& total) noexcept {
  if (total.spent && total.holds == 0) total.now = total_slot::phase::empty;
}

// --- what leaves
// ----------------------------------------------------------------------------------

std::span<const std::byte> stage_rooms::hold(const tensor_ref& ref) {
  const guard locked(lock_);
  if (ref.kind == tensor_kind::gradient) return hold_total(ref);
  if (ref.kind == tensor_kind::state) {
    const layer_rooms* l = layer_of(ref.layer);
    if (l == nullptr || ref.step != l->applied) return {};
    return l->state;
  }
  micro_slot* slot = slot_of(ref);
  if (slot == nullptr) return {};
  if (ref.kind == tensor_kind::activation) {
    if (ref.layer != layer_end() || shape_.last_stage || slot->now == micro_slot::phase::forward)
      return {};
    ++slot->output_holds;
    return {slot->data + shape_.output.offset, shape_.output.size};
  }
  if (ref.layer != shape_.layer_first || shape_.first_stage ||
      slot->now != micro_slot::phase::leaving)
    return {};
  ++slot->gradient_holds;
  return {slot->data + shape_.input_gradient.offset, shape_.input_gradient.size};
}

std::span<const std::byte> stage_rooms::hold_total(const tensor_ref& ref) {
  layer_rooms* l = layer_of(ref.layer);
  total_slot* total = l == nullptr ? nullptr : total_at(*l, ref.step, ref.index);
  const bool came =
      total != nullptr && total->now == total_slot::phase::here && ref.index == shape_.slice_count;
  if (total == nullptr || !(came || total->now == total_slot::phase::ready)) return {};
  ++total->holds;
  return {total->data, l->gradient_size};
}

void stage_rooms::release(const tensor_ref& ref) {
  const guard locked(lock_);
  if (ref.kind == tensor_kind::state) return;
  if (ref.kind == tensor_kind::gradient) {
    layer_rooms* l = layer_of(ref.layer);
    total_slot* total = l == nullptr ? nullptr : total_at(*l, ref.step, ref.index);
    CHECK(total != nullptr && total->holds > 0);
    --total->holds;
    if (ref.index != shape_.slice_count) total->spent = true;  // a part has one reader
    settle(*total);
    return;
  }
  micro_slot* slot = slot_of(ref);
  CHECK(slot != nullptr);
  const bool output = ref.kind == tensor_kind::activation;
  std::uint32_t& holds = output ? slot->output_holds : slot->gradient_holds;
  CHECK(holds > 0);
  --holds;
  if (!output) slot->gradient_left = true;
  settle(*slot);
}

// --- what comes
// -----------------------------------------------------------------------------------

std::span<std::byte> stage_rooms::room(const tensor_ref& ref) {
  const guard locked(lock_);
  switch (ref.kind) {
    case tensor_kind::activation:
      return room_for_input(ref);
    case tensor_kind::activation_gradient:
      return room_for_output_gradient(ref);
    case tensor_kind::gradient:
      return room_for_total(ref);
    case tensor_kind::state:
      return {};
  }
  return {};
}

std::span<std::byte> stage_rooms::room_for_input(const tensor_ref& ref) {
  if (shape_.first_stage || ref.layer != shape_.layer_first) return {};
  if (ref.index < shape_.micro_first || ref.index >= shape_.micro_end) return {};
  if (ref.step != forwards_[ref.index - shape_.micro_first]) return {};
  if (const input_slot* input = input_of(ref); input != nullptr) {
    if (input->now != input_slot::phase::promised) return {};
    return {input->data, shape_.input_size};
  }
  const auto empty = std::find_if(inputs_.begin(), inputs_.end(), [](const input_slot& input) {
    return input.now == input_slot::phase::empty;
  });
  if (empty == inputs_.end()) return {};
  empty->now = input_slot::phase::promised;
  empty->step = ref.step;
  empty->micro_batch = ref.index;
  return {empty->data, shape_.input_size};
}

std::span<std::byte> stage_rooms::room_for_output_gradient(const tensor_ref& ref) {
  if (shape_.last_stage || ref.layer != layer_end()) return {};
  micro_slot* slot = slot_of(ref);
  if (slot == nullptr || slot->now != micro_slot::phase::waiting || slot->gradient_here) {
    return {};
  }
  return {slot->data + shape_.output_gradient.offset, shape_.output_gradient.size};
}

std::span<std::byte> stage_rooms::room_for_total(const tensor_ref& ref) {
  layer_rooms* l = layer_of(ref.layer);
  if (l == nullptr) return {};
  const bool from_left = ref.index == shape_.slice_first && shape_.slice_first > 0;
  const bool from_right = ref.index == shape_.slice_count && shape_.slice_end < shape_.slice_count;
  if (!from_left && !from_right) return {};
  // The left neighbour may be one step ahead; the total comes back only after our part went.
  if (from_left && (ref.step < l->folds || ref.step > l->applied + 1)) return {};
  if (from_right && (ref.step < l->applied || ref.step >= l->folds)) return {};
  if (total_slot* total = total_at(*l, ref.step, ref.index); total != nullptr) {
    if (total->now != total_slot::phase::promised) return {};
    return {total->data, l->gradient_size};
  }
  total_slot* empty = empty_total(*l);
  if (empty == nullptr) return {};
  *empty = {empty->data, total_slot::phase::promised, ref.step, ref.index, 0, false};
  return {empty->data, l->gradient_size};
}

void stage_rooms::arrived(const tensor_ref& ref) {
  const guard locked(lock_);
  if (ref.kind == tensor_kind::gradient) {
    layer_rooms* l = layer_of(ref.layer);
    total_slot* total = l == nullptr ? nullptr : total_at(*l, ref.step, ref.index);
    CHECK(total != nullptr && total->now == total_slot::phase::promised);
    total->now = total_slot::phase::here;
  } else if (ref.kind == tensor_kind::activation) {
    input_slot* input = input_of(ref);
    CHECK(input != nullptr && input->now == input_slot::phase::promised);
    input->now = input_slot::phase::here;
  } else {
    micro_slot* slot = slot_of(ref);
    CHECK(slot != nullptr && slot->now == micro_slot::phase::waiting);
    slot->gradient_here = true;
  }
}

// --- tasks
// ----------------------------------------------------------------------------------------

micro_slot& stage_rooms::begin_forward(std::uint32_t lane, const task& t) {
  const guard locked(lock_);
  CHECK(t.index >= shape_.micro_first && t.index < shape_.micro_end);
  auto& slots = lanes_[lane];
  const auto slot = std::find_if(slots.begin(), slots.end(), [](const micro_slot& s) {
    return s.now == micro_slot::phase::empty;
  });
  CHECK(slot != slots.end());
  input_slot* input = shape_.first_stage ? nullptr : input_of({{}, t.step, 0, t.index});
  CHECK(shape_.first_stage || (input != nullptr && input->now == input_slot::phase::here));
  if (input != nullptr) input->now = input_slot::phase::used;
  forwards_[t.index - shape_.micro_first] = t.step + 1;
  std::byte* data = slot->data;
  *slot = micro_slot{};
  slot->data = data;
  slot->now = micro_slot::phase::forward;
  slot->step = t.step;
  slot->micro_batch = t.index;
  slot->input = input;
  return *slot;
}

void stage_rooms::end_forward(micro_slot& slot) {
  const guard locked(lock_);
  slot.now = micro_slot::phase::waiting;
}

micro_slot& stage_rooms::begin_backward(std::uint32_t lane, const task& t) {
  const guard locked(lock_);
  micro_slot* slot = slot_of({tensor_kind::activation, t.step, 0, t.index});
  CHECK(slot != nullptr && slot->now == micro_slot::phase::waiting);
  CHECK(slot >= lanes_[lane].data() && slot < lanes_[lane].data() + lanes_[lane].size());
  CHECK(shape_.last_stage || slot->gradient_here);
  slot->now = micro_slot::phase::backward;
  return *slot;
}

void stage_rooms::end_backward(micro_slot& slot) {
  const guard locked(lock_);
  slot.now = micro_slot::phase::leaving;
  if (slot.input != nullptr) slot.input->now = input_slot::phase::empty;
  slot.input = nullptr;
  settle(slot);
}

std::byte* stage_rooms::begin_fold(const task& t) {
  const guard locked(lock_);
  layer_rooms* l = layer_of(t.index);
  CHECK(l != nullptr && l->folds == t.step);
  if (shape_.slice_first > 0) {
    total_slot* came = total_at(*l, t.step, shape_.slice_first);
    CHECK(came != nullptr && came->now == total_slot::phase::here);
    return came->data;
  }
  total_slot* fresh = empty_total(*l);
  CHECK(fresh != nullptr);
  *fresh = {fresh->data, total_slot::phase::here, t.step, shape_.slice_first, 0, false};
  return fresh->data;
}

void stage_rooms::end_fold(const task& t) {
  const guard locked(lock_);
  layer_rooms* l = layer_of(t.index);
  total_slot* total = total_at(*l, t.step, shape_.slice_first);
  CHECK(total != nullptr);
  total->now = total_slot::phase::ready;
  total->index = shape_.slice_end;
  ++l->folds;
}

const std::byte* stage_rooms::total_of(const task& t) {
  const guard locked(lock_);
  layer_rooms* l = layer_of(t.index);
  CHECK(l != nullptr && l->applied == t.step);
  total_slot* total = total_at(*l, t.step, shape_.slice_count);
  CHECK(total != nullptr && total->now != total_slot::phase::promised);
  total->now = total_slot::phase::ready;
  return total->data;
}

void stage_rooms::end_apply(const task& t) {
  const guard locked(lock_);
  layer_rooms* l = layer_of(t.index);
  ++l->applied;
  for (total_slot& total : l->totals) {
    if (total.now == total_slot::phase::empty || total.step > t.step) continue;
    total.spent = true;
    settle(total);
  }
}

}  // namespace perigee::kernels
