#include "kernels/layer_runner.hpp"

#include "proto/base/check.hpp"

#include <cstring>

namespace perigee::kernels {

namespace {

std::byte* at(const layer_pass& pass, spot where) noexcept {
  std::byte* base = pass.bases[static_cast<std::size_t>(where.where)];
  return base == nullptr ? nullptr : base + where.offset;
}

float* floats_at(const layer_pass& pass, spot where) noexcept {
  return reinterpret_cast<float*>(at(pass, where));
}

}  // namespace

layer_runner::layer_runner(const layer_model& model, std::vector<op_ptr> operators)
    : model_(&model), operators_(std::move(operators)), rooms_(model.graph.nodes.size()) {
  CHECK(operators_.size() == model.graph.nodes.size());
  for (std::size_t i = 0; i < rooms_.size(); ++i) {
    const node& n = model.graph.nodes[i];
    call_room& room = rooms_[i];
    room.in.resize(n.in.size());
    room.din.resize(n.in.size());
    room.out.resize(n.out == no_value ? 0 : 1);
    room.dout.resize(room.out.size());
    room.param.resize(n.parameters.size());
    room.dparam.resize(n.parameters.size());
    room.saved.resize(model.program.nodes[i].saved.size());
  }
}

op_call layer_runner::filled(std::size_t i, const layer_pass& pass) {
  const node& n = model_->graph.nodes[i];
  const node_program& p = model_->program.nodes[i];
  call_room& room = rooms_[i];
  const spot kept{region::kept, 0};
  for (std::size_t k = 0; k < n.in.size(); ++k) {
    room.in[k] = at(pass, model_->program.values[n.in[k]]);
    room.din[k] = p.runs_backward ? floats_at(pass, p.din[k].to) : nullptr;
  }
  if (n.out != no_value) {
    room.out[0] = floats_at(pass, model_->program.values[n.out]);
    room.dout[0] = floats_at(pass, model_->program.gradients[n.out]);
  }
  for (std::size_t k = 0; k < n.parameters.size(); ++k) {
    const std::size_t offset = model_->layout.parameters[p.parameter_first + k].offset;
    room.param[k] = pass.state + offset;
    room.dparam[k] = pass.gradients == nullptr ? nullptr : pass.gradients + offset;
  }
  for (std::size_t k = 0; k < p.saved.size(); ++k)
    room.saved[k] = at(pass, {kept.where, p.saved[k]});

  op_call c{room.in, room.out, room.param, nullptr, room.saved, room.dout, room.din, room.dparam};
  if (pass.packed != nullptr) c.packed = pass.packed + p.packed;
  c.scratch = at(pass, {region::transient, 0});
  if (!n.running.empty()) {
    const std::size_t offset = model_->layout.running[p.running].offset;
    if (pass.statistics != nullptr) c.statistics = pass.statistics + offset;
    if (pass.running != nullptr) c.running = pass.running + offset;
  }
  c.seed = pass.seed, c.step = pass.step, c.micro_batch = pass.micro_batch;
  c.loss_scale = pass.loss_scale, c.loss = pass.loss;
  return c;
}

void layer_runner::forward(const layer_pass& pass) {
  for (std::size_t i = 0; i < operators_.size(); ++i) operators_[i]->forward(filled(i, pass));
}

void layer_runner::backward(const layer_pass& pass) {
  for (std::size_t i = operators_.size(); i-- > 0;) {
    const node_program& p = model_->program.nodes[i];
    if (!p.runs_backward) continue;
    const op_call c = filled(i, pass);
    // Weights first: the gradient of the inputs may overwrite that of the outputs.
    if (!model_->graph.nodes[i].parameters.empty()) operators_[i]->backward_weights(c);
    bool wanted = false;
    for (const float* din : rooms_[i].din) wanted = wanted || din != nullptr;
    if (!wanted) continue;
    operators_[i]->backward_inputs(c);
    add_parts(i, pass);
  }
}

void layer_runner::add_parts(std::size_t i, const layer_pass& pass) {
  const node& n = model_->graph.nodes[i];
  for (std::size_t k = 0; k < n.in.size(); ++k) {
    const input_gradient_plan& din = model_->program.nodes[i].din[k];
    if (din.sum.where == region::none) continue;
    const auto count = static_cast<std::size_t>(model_->graph.values[n.in[k]].count);
    add({floats_at(pass, din.sum), count}, floats_at(pass, din.to));
  }
}

void layer_runner::pack(const float* state, std::byte* packed, std::byte* scratch) {
  for (std::size_t i = 0; i < operators_.size(); ++i) {
    if (operators_[i]->needs().packed_bytes == 0) continue;
    const node_program& p = model_->program.nodes[i];
    for (std::size_t k = 0; k < rooms_[i].param.size(); ++k)
      rooms_[i].param[k] = state + model_->layout.parameters[p.parameter_first + k].offset;
    operators_[i]->pack(rooms_[i].param, packed + p.packed, scratch);
  }
}

__attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4"))) void add(
    std::span<float> to, const float* from) noexcept {
  float* out = to.data();
  const std::size_t count = to.size();
  for (std::size_t i = 0; i < count; ++i) out[i] += from[i];
}

__attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4"))) bool all_finite(
    std::span<const float> values) noexcept {
  // An exponent of all ones is an infinity or not a number: adding one to it carries into the sign.
  std::uint32_t carry = 0;
  const std::size_t count = values.size();
  const float* in = values.data();
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, in + i, sizeof bits);
    carry |= (bits & 0x7fffffffU) + 0x00800000U;
  }
  return (carry & 0x80000000U) == 0;
}

}  // namespace perigee::kernels
