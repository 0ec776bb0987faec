#include "kernels/stage.hpp"

#include "kernels/engine.hpp"
#include "kernels/optimizer/clip.hpp"
#include "kernels/optimizer/optimizer.hpp"
#include "kernels/optimizer/rate.hpp"
#include "proto/base/check.hpp"
#include "proto/digest.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>

namespace perigee::kernels {

namespace {

std::byte*& base_of(layer_pass& pass, region where) {
  return pass.bases[static_cast<std::size_t>(where)];
}

}  // namespace

outcome stage_executor::run(std::uint32_t lane, const task& what) {
  CHECK(lane < lanes_.size());
  enter_lane();
  const auto begin = std::chrono::steady_clock::now();
  outcome o;
  switch (what.kind) {
    case task_kind::forward:
      forward(lanes_[lane], lane, what, o);
      break;
    case task_kind::backward:
      backward(lanes_[lane], lane, what);
      break;
    case task_kind::fold:
      fold(what);
      break;
    case task_kind::measure:
      measure(what, o);
      break;
    case task_kind::apply:
      apply(lanes_[lane], what, o);
      break;
  }
  o.elapsed = std::chrono::steady_clock::now() - begin;
  return o;
}

// --- samples
// --------------------------------------------------------------------------------------

std::uint64_t stage_executor::sample_of(std::uint64_t step, std::uint64_t position) const {
  return data_->sample_at(spec_.seed, step * spec_.mini_batch + position);
}

void stage_executor::read_samples(const micro_slot& slot) const {
  std::byte* at = slot.data + slot_.samples;
  const std::uint64_t first = std::uint64_t{slot.micro_batch} * spec_.micro_batch;
  for (std::uint32_t i = 0; i < spec_.micro_batch; ++i) {
    data_->input(split::training, sample_of(slot.step, first + i), at);
    at += sample_count_ * 4;
  }
}

void stage_executor::read_targets(stage_lane& lane, micro_slot& slot) const {
  auto* at = reinterpret_cast<std::int32_t*>(slot.data + slot_.targets);
  const std::uint64_t first = std::uint64_t{slot.micro_batch} * spec_.micro_batch;
  slot.counted = 0;
  for (std::uint32_t i = 0; i < spec_.micro_batch; ++i) {
    data_->target(split::training, sample_of(slot.step, first + i), lane.targets.data());
    for (const std::int32_t target : lane.targets) {
      slot.counted += target == not_counted ? 0 : 1;
      *at++ = target;
    }
  }
}

double stage_executor::loss_scale(stage_lane& lane, std::uint64_t step) const {
  if (lane.counted_step != step + 1) {
    lane.counted = 0;
    for (std::uint32_t i = 0; i < spec_.mini_batch; ++i) {
      data_->target(split::training, sample_of(step, i), lane.targets.data());
      for (const std::int32_t target : lane.targets) lane.counted += target == not_counted ? 0 : 1;
    }
    lane.counted_step = step + 1;
  }
  return lane.counted == 0 ? 0.0 : 1.0 / static_cast<double>(lane.counted);
}

// --- a micro-batch
// --------------------------------------------------------------------------------

float* stage_executor::slice_buffer(std::size_t i, std::uint32_t micro_batch) const {
  return layers_[i]->slices[micro_batch / slice_size(spec_) - self_.slice_first];
}

layer_pass stage_executor::pass_of(const stage_lane& lane, std::size_t i, micro_slot& slot) const {
  const std::size_t last = layers_.size() - 1;
  const layer_layout& layout = layers_[i]->model.layout;
  float* slice = slice_buffer(i, slot.micro_batch);
  layer_pass pass;
  if (i > 0) {
    base_of(pass, region::input) = slot.data + slot_.output[i - 1];
    base_of(pass, region::input_gradient) = lane.boundaries[(i - 1) % 2];
  } else if (has_first()) {
    base_of(pass, region::input) = slot.data + slot_.samples;
  } else {
    base_of(pass, region::input) = slot.input->data;
    base_of(pass, region::input_gradient) = slot.data + slot_.input_gradient;
  }
  if (i < last) {
    base_of(pass, region::output) = slot.data + slot_.output[i];
    base_of(pass, region::output_gradient) = lane.boundaries[i % 2];
  } else if (!has_last()) {
    base_of(pass, region::output) = slot.data + slot_.output[i];
    base_of(pass, region::output_gradient) = slot.data + slot_.output_gradient;
  } else {
    base_of(pass, region::targets) = slot.data + slot_.targets;
  }
  base_of(pass, region::kept) = slot.data + slot_.kept[i];
  base_of(pass, region::transient) = lane.transient;
  pass.state = layers_[i]->state;
  pass.packed = layers_[i]->packed;
  pass.gradients = slice;
  pass.statistics = slice + layout.gradient_floats() +
                    slot.micro_batch % slice_size(spec_) * layout.running_floats;
  pass.seed = spec_.seed, pass.step = slot.step, pass.micro_batch = slot.micro_batch;
  pass.loss = &slot.loss;
  return pass;
}

bool stage_executor::is_finite(std::size_t i, const micro_slot& slot) const {
  const layer_graph& graph = layers_[i]->model.graph;
  if (graph.output == no_value) return std::isfinite(slot.loss);
  const auto* out = reinterpret_cast<const float*>(slot.data + slot_.output[i]);
  return all_finite({out, static_cast<std::size_t>(graph.values[graph.output].count)});
}

void stage_executor::forward(stage_lane& lane, std::uint32_t number, const task& t, outcome& o) {
  micro_slot& slot = rooms_->begin_forward(number, t);
  if (has_first()) read_samples(slot);
  if (has_last()) read_targets(lane, slot);
  for (std::size_t i = 0; i < layers_.size() && o.finite; ++i) {
    lane.layers[i].forward(pass_of(lane, i, slot));
    if (is_finite(i, slot)) continue;
    o.finite = false;
    o.where = {stage_.layer_first + static_cast<std::uint32_t>(i), t.index};
  }
  rooms_->end_forward(slot);
}

void stage_executor::backward(stage_lane& lane, std::uint32_t number, const task& t) {
  micro_slot& slot = rooms_->begin_backward(number, t);
  const std::uint32_t slice = t.index / slice_size(spec_) - self_.slice_first;
  std::uint32_t& next = slice_next_[slice];
  CHECK(t.index % slice_size(spec_) == next);
  const double scale = has_last() ? loss_scale(lane, t.step) : 1.0;
  for (std::size_t i = layers_.size(); i-- > 0;) {
    layer_pass pass = pass_of(lane, i, slot);
    pass.loss_scale = scale;
    const layer_layout& layout = layers_[i]->model.layout;
    if (next == 0) std::memset(pass.gradients, 0, layout.gradient_floats() * sizeof(float));
    lane.layers[i].backward(pass);
    if (has_last() && i + 1 == layers_.size())
      add_loss(layout, pass.gradients, {slot.loss, slot.counted});
  }
  next = next + 1 == slice_sizes_[slice] ? 0 : next + 1;
  rooms_->end_backward(slot);
}

// --- a layer
// --------------------------------------------------------------------------------------

void stage_executor::fold(const task& t) {
  auto* data = reinterpret_cast<float*>(rooms_->begin_fold(t));
  const stage_layer& layer = *layers_[t.index - stage_.layer_first];
  const layer_layout& layout = layer.model.layout;
  const std::span<float> total{data, layout.gradient_floats()};
  if (self_.slice_first == 0) begin_total(layout, total, layer.state + layout.state_running());
  fold_slices(layout, total, layer.slices, slice_sizes_, wrong_);
  rooms_->end_fold(t);
}

void stage_executor::measure(const task& t, outcome& o) {
  const auto* total = reinterpret_cast<const float*>(rooms_->total_of(t));
  const layer_layout& layout = layers_[t.index - stage_.layer_first]->model.layout;
  o.values.reserve(layout.parameters.size());
  for (const parameter_place& p : layout.parameters) {
    const double squares = sum_of_squares({total + p.offset, p.count});
    o.finite = o.finite && std::isfinite(squares);
    o.values.push_back(std::bit_cast<std::uint64_t>(squares));
  }
  if (!o.finite) o.where = {t.index, micro_batch_count(spec_)};
  if (t.index + 1 != layer_total_) return;
  const loss_tail tail = loss_of(layout, total);
  const double mean = tail.counted == 0 ? 0.0 : tail.loss / static_cast<double>(tail.counted);
  o.loss_bits = std::bit_cast<std::uint64_t>(mean);
  o.counted = tail.counted;
}

void stage_executor::apply(stage_lane& lane, const task& t, outcome& o) {
  const auto* total = reinterpret_cast<const float*>(rooms_->total_of(t));
  const std::size_t i = t.index - stage_.layer_first;
  stage_layer& layer = *layers_[i];
  const layer_layout& layout = layer.model.layout;

  CHECK(t.values.size() == lane.squares.size());
  for (std::size_t k = 0; k < t.values.size(); ++k)
    lane.squares[k] = std::bit_cast<double>(t.values[k]);
  update_call call;
  call.step = t.step;
  call.rate = rate_at(spec_.optimizer, spec_.rate, t.step, spec_.steps);
  call.scale = clip_scale(gradient_norm(lane.squares), spec_.clip_norm);
  const optimizer rule(spec_.optimizer);
  for (const parameter_place& p : layout.parameters) {
    float* at = layer.state + p.offset;
    call.param = {at, p.count};
    call.grad = {total + p.offset, p.count};
    if (layout.moments > 0) call.moment1 = {at + layout.parameter_floats, p.count};
    if (layout.moments > 1) call.moment2 = {at + 2 * layout.parameter_floats, p.count};
    rule.update(call);
  }
  std::copy_n(total + layout.parameter_floats, layout.running_floats,
              layer.state + layout.state_running());
  lane.layers[i].pack(layer.state, layer.packed, lane.transient);

  const auto state = std::span<const float>(layer.state, layout.state_floats());
  const digest128 digest = digest_of(std::as_bytes(state));
  o.values = {digest.high, digest.low};
  rooms_->end_apply(t);
}

}  // namespace perigee::kernels
