#include "net/sim/value_executor.hpp"

#include "net/sim/values.hpp"
#include "proto/base/check.hpp"

#include <algorithm>

namespace perigee::net {

namespace {

std::uint32_t micro_batch_at(const model_profile& model, std::uint32_t slice) {
  return std::min(slice * model.slice_size, model.micro_batch_count);
}

}  // namespace

value_executor::value_executor(const specification& spec, const model_profile& model, const plan& p,
                               peer_id self, value_options options)
    : spec_(spec), model_(model), options_(std::move(options)) {
  const place where = place_of(p, self);
  CHECK(where.stage < p.stages.size());
  const stage& own = p.stages[where.stage];
  const member& me = own.group[where.index];
  layer_first_ = own.layer_first;
  layer_end_ = own.layer_first + own.layer_count;
  slice_first_ = me.slice_first;
  slice_end_ = me.slice_first + me.slice_count;
  micro_first_ = micro_batch_at(model_, slice_first_);
  last_stage_ = layer_end_ == model_.layers.size();
  last_member_ = slice_end_ == model_.slice_count;
  micro_batches_.resize(micro_batch_at(model_, slice_end_) - micro_first_);
  for (micro_batch_cells& m : micro_batches_) m.kept.resize(own.layer_count + 1);
  layers_.resize(own.layer_count);
  for (std::uint32_t l = layer_first_; l < layer_end_; ++l) {
    layer_cells& cells = layers_[l - layer_first_];
    cells.sums.resize(me.slice_count);
    cells.state = values::first_state(spec_.seed, l);
    put(cells.state_out, 0, cells.state);
  }
}

outcome value_executor::run(std::uint32_t, const task& what) {
  CHECK(what.step == step_ || (what.step == step_ + 1 && what.kind == task_kind::forward));
  switch (what.kind) {
    case task_kind::forward:
      return forward(what);
    case task_kind::backward:
      return backward(what);
    case task_kind::fold:
      return fold(what);
    case task_kind::measure:
      return measure(what);
    case task_kind::apply:
      return apply(what);
  }
  check_failed(__FILE__, __LINE__, "the kind of a task is known");
}

outcome value_executor::forward(const task& what) {
  step_ = what.step;
  CHECK(what.index >= micro_first_ && what.index - micro_first_ < micro_batches_.size());
  micro_batch_cells& m = micro_batches_[what.index - micro_first_];
  CHECK(!m.between);
  m.between = true;
  m.kept[0] = layer_first_ == 0 ? values::samples(spec_.seed, what.step, what.index)
                                : taken(m.activation_in, what.step);
  for (std::uint32_t l = layer_first_; l < layer_end_; ++l) {
    const std::uint32_t i = l - layer_first_;
    m.kept[i + 1] = values::forward({what.step, what.index, l}, layers_[i].state, m.kept[i]);
    const auto& fault = options_.fault;
    if (fault && fault->step == what.step && fault->where == non_finite{l, what.index}) {
      outcome bad;
      bad.finite = false;
      bad.where = fault->where;
      return bad;
    }
  }
  if (!last_stage_) put(m.activation_out, what.step, m.kept.back());
  return {};
}

outcome value_executor::backward(const task& what) {
  CHECK(what.index >= micro_first_ && what.index - micro_first_ < micro_batches_.size());
  micro_batch_cells& m = micro_batches_[what.index - micro_first_];
  CHECK(m.between);
  m.between = false;
  std::uint64_t gradient =
      last_stage_ ? values::loss_gradient(m.kept.back()) : taken(m.gradient_in, what.step);
  const std::uint32_t slice = what.index / model_.slice_size;
  const bool begins_slice = what.index % model_.slice_size == 0;
  for (std::uint32_t l = layer_end_; l-- > layer_first_;) {
    const std::uint32_t i = l - layer_first_;
    const values::pass_name at{what.step, what.index, l};
    std::uint64_t& sum = layers_[i].sums[slice - slice_first_];
    if (begins_slice) sum = values::empty_slice(l, slice);
    sum = values::added(sum, values::weight_gradient(at, m.kept[i], gradient));
    sum = values::added(sum, values::statistic(at, m.kept[i]));
    if (options_.bug == sabotage::statistic_twice && what.index == 0) {
      sum = values::added(sum, values::statistic(at, m.kept[i]));
    }
    gradient = values::backward(at, layers_[i].state, m.kept[i], gradient);
  }
  if (layer_first_ > 0) put(m.gradient_out, what.step, gradient);
  return {};
}

outcome value_executor::fold(const task& what) {
  CHECK(what.index >= layer_first_ && what.index < layer_end_);
  layer_cells& cells = layers_[what.index - layer_first_];
  cells.total =
      slice_first_ == 0 ? values::empty_total(what.index) : taken(cells.before, what.step);
  for (std::uint32_t slice = slice_first_; slice < slice_end_; ++slice) {
    const std::uint64_t sum = cells.sums[slice - slice_first_];
    const bool last = slice + 1 == slice_end_;
    if (last && options_.bug == sabotage::dropped_slice) continue;
    cells.total = last && options_.bug == sabotage::reversed_fold
                      ? values::folded(sum, slice, cells.total)
                      : values::folded(cells.total, slice, sum);
  }
  put(cells.total_out, what.step, cells.total);
  return {};
}

std::uint64_t value_executor::total_of(std::uint64_t step, std::uint32_t layer) {
  layer_cells& cells = layers_[layer - layer_first_];
  if (last_member_) {
    CHECK(cells.total_out.made && cells.total_out.step_next == step + 1);
    return cells.total;
  }
  const cell& here = cells.total_in[step % 2];
  CHECK(here.made && here.step_next == step);
  return here.value;
}

outcome value_executor::measure(const task& what) {
  CHECK(what.index >= layer_first_ && what.index < layer_end_);
  const std::uint64_t total = total_of(what.step, what.index);
  outcome result;
  result.values = {values::measure(what.index, total)};
  if (what.index + 1 == model_.layers.size()) {
    result.loss_bits = values::loss_bits(total);
    result.counted = std::uint64_t{model_.micro_batch_count} * model_.micro_batch_samples;
  }
  return result;
}

outcome value_executor::apply(const task& what) {
  CHECK(what.index >= layer_first_ && what.index < layer_end_);
  layer_cells& cells = layers_[what.index - layer_first_];
  const std::uint64_t total = total_of(what.step, what.index);
  if (!last_member_) (void)taken(cells.total_in, what.step);
  std::uint64_t measured = 0;
  for (const std::uint64_t value : what.values) measured = hash_of(measured, value);
  cells.state = values::applied(what.step, cells.state, total, measured);
  put(cells.state_out, what.step + 1, cells.state);
  const digest128 digest = values::digest(cells.state);
  outcome result;
  result.values = {digest.high, digest.low};
  return result;
}

std::span<const std::byte> value_executor::hold(const tensor_ref& ref) {
  cell* found = made_cell(ref);
  if (found == nullptr) return {};
  ++found->holds;
  return std::as_bytes(std::span(&found->value, 1));
}

void value_executor::release(const tensor_ref& ref) {
  cell* found = made_cell(ref);
  CHECK(found != nullptr && found->holds > 0);
  --found->holds;
}

std::span<std::byte> value_executor::room(const tensor_ref& ref) {
  cell* found = room_cell(ref);
  if (found == nullptr || ref.step > step_ + 1 || ref.step < found->step_next) return {};
  if (found->complete && found->step_next == ref.step) return {};
  CHECK(found->holds == 0);
  found->complete = false;
  found->step_next = ref.step;
  found->made = true;  // whoever runs a task before the bytes are here is caught by the digests
  return std::as_writable_bytes(std::span(&found->value, 1));
}

void value_executor::arrived(const tensor_ref& ref) {
  cell* found = room_cell(ref);
  CHECK(found != nullptr && found->step_next == ref.step);
  found->complete = true;
}

value_executor::cell* value_executor::made_cell(const tensor_ref& ref) {
  cell* found = nullptr;
  if (ref.kind == tensor_kind::activation || ref.kind == tensor_kind::activation_gradient) {
    if (ref.index < micro_first_ || ref.index - micro_first_ >= micro_batches_.size()) {
      return nullptr;
    }
    micro_batch_cells& m = micro_batches_[ref.index - micro_first_];
    const bool forward = ref.kind == tensor_kind::activation;
    if (ref.layer != (forward ? layer_end_ : layer_first_)) return nullptr;
    found = forward ? &m.activation_out : &m.gradient_out;
  } else {
    if (ref.layer < layer_first_ || ref.layer >= layer_end_) return nullptr;
    layer_cells& cells = layers_[ref.layer - layer_first_];
    if (ref.kind == tensor_kind::state) {
      found = ref.step + 1 == cells.state_out.step_next ? &cells.state_out : nullptr;
      return found;
    }
    if (ref.index == slice_end_) {
      found = &cells.total_out;
    } else if (ref.index == model_.slice_count) {
      // A total on its way to the members before this one.
      found = &cells.total_in[ref.step % 2];
      const bool here = found->made && found->step_next == ref.step;
      const bool used = found->made && found->step_next == ref.step + 2;
      return here || used ? found : nullptr;
    }
  }
  if (found == nullptr || !found->made || found->step_next != ref.step + 1) return nullptr;
  return found;
}

value_executor::cell* value_executor::room_cell(const tensor_ref& ref) {
  if (ref.kind == tensor_kind::gradient) return layer_room(ref);
  if (ref.kind == tensor_kind::state) return nullptr;
  if (ref.index < micro_first_ || ref.index - micro_first_ >= micro_batches_.size()) {
    return nullptr;
  }
  micro_batch_cells& m = micro_batches_[ref.index - micro_first_];
  if (ref.kind == tensor_kind::activation) {
    if (layer_first_ == 0 || ref.layer != layer_first_) return nullptr;
    return &m.activation_in[ref.step % 2];
  }
  if (last_stage_ || ref.layer != layer_end_) return nullptr;
  return &m.gradient_in[ref.step % 2];
}

value_executor::cell* value_executor::layer_room(const tensor_ref& ref) {
  if (ref.layer < layer_first_ || ref.layer >= layer_end_) return nullptr;
  layer_cells& cells = layers_[ref.layer - layer_first_];
  if (slice_first_ > 0 && ref.index == slice_first_) return &cells.before[ref.step % 2];
  if (!last_member_ && ref.index == model_.slice_count) return &cells.total_in[ref.step % 2];
  return nullptr;
}

void value_executor::put(cell& into, std::uint64_t step, std::uint64_t value) {
  CHECK(into.holds == 0);
  into.value = value;
  into.step_next = step + 1;
  into.made = true;
}

std::uint64_t value_executor::taken(inbox& from, std::uint64_t step) {
  cell& here = from[step % 2];
  CHECK(here.made && here.step_next == step);
  here.complete = false;
  here.step_next = step + 2;  // this one has been; the next of this parity may come
  return here.value;
}

}  // namespace perigee::net
