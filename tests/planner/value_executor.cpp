#include "planner/run/schedule.hpp"
#include "proto/base/check.hpp"
#include "proto/base/hash.hpp"
#include "tests/planner/world.hpp"

namespace perigee::planner::testing {

value_executor::value_executor(const plan& p, peer_id self, const model_profile& model)
    : plan_(p), where_(place_of(p, self)), model_(model) {
  const stage& s = plan_.stages[where_.stage];
  for (std::uint32_t l = s.layer_first; l < s.layer_first + s.layer_count; ++l)
    states_[l] = hash_of(7, l);
}

outcome value_executor::run(const task& what, const std::optional<fault>& bad) {
  ++runs[text(what)];
  outcome done;
  done.elapsed = 1ms;
  switch (what.kind) {
    case task_kind::forward:
      return forward(what, bad);
    case task_kind::backward:
      backward(what);
      break;
    case task_kind::fold:
      fold(what);
      break;
    case task_kind::measure: {
      const auto total = get({tensor_kind::gradient, what.step, what.index, model_.slice_count});
      done.values = {hash_of(total, 1)};
      done.loss_bits = total;
      done.counted = 64;
      if (bad && bad->micro_batch == model_.micro_batch_count && bad->step == what.step &&
          bad->layer == what.index) {
        done.finite = false;
        done.where = {what.index, model_.micro_batch_count};
      }
      break;
    }
    case task_kind::apply: {
      CHECK(what.values.size() == model_.layers.size());
      std::uint64_t norm = 0;
      for (const auto v : what.values) norm = hash_of(norm, v);
      auto& state = states_.at(what.index);
      state = hash_of(
          state, get({tensor_kind::gradient, what.step, what.index, model_.slice_count}), norm);
      done.values = {state, mixed(state)};
      put({tensor_kind::state, what.step + 1, what.index, 0}, state);
      break;
    }
  }
  return done;
}

outcome value_executor::forward(const task& t, const std::optional<fault>& bad) {
  const stage& s = plan_.stages[where_.stage];
  const std::uint32_t end = s.layer_first + s.layer_count;
  std::uint64_t x = where_.stage == 0
                        ? hash_of(11, t.step, t.index)
                        : get({tensor_kind::activation, t.step, s.layer_first, t.index});
  outcome done;
  done.elapsed = 1ms;
  for (std::uint32_t l = s.layer_first; l < end; ++l) {
    inputs_[{l, t.index}] = x;
    x = hash_of(x, states_.at(l), l);
    if (bad && bad->step == t.step && bad->micro_batch == t.index && bad->layer == l) {
      done.finite = false;
      done.where = {l, t.index};
    }
  }
  inputs_[{end, t.index}] = x;
  put({tensor_kind::activation, t.step, end, t.index}, x);
  return done;
}

void value_executor::backward(const task& t) {
  const stage& s = plan_.stages[where_.stage];
  const std::uint32_t end = s.layer_first + s.layer_count;
  std::uint64_t g = where_.stage + 1 == plan_.stages.size()
                        ? hash_of(inputs_.at({end, t.index}), 3)
                        : get({tensor_kind::activation_gradient, t.step, end, t.index});
  for (std::uint32_t l = end; l-- > s.layer_first;) {
    const std::uint64_t x = inputs_.at({l, t.index});
    auto& sum = slices_[{l, t.index / model_.slice_size}];
    sum = hash_of(sum, hash_of(g, x, l));
    g = hash_of(g, x, states_.at(l));
    inputs_.erase({l, t.index});
  }
  put({tensor_kind::activation_gradient, t.step, s.layer_first, t.index}, g);
}

void value_executor::fold(const task& t) {
  const member& own = plan_.stages[where_.stage].group[where_.index];
  std::uint64_t total =
      where_.index == 0 ? 0 : get({tensor_kind::gradient, t.step, t.index, own.slice_first});
  for (std::uint32_t i = own.slice_first; i < own.slice_first + own.slice_count; ++i) {
    total = hash_of(total, slices_.at({t.index, i}), i);
    slices_.erase({t.index, i});
  }
  put({tensor_kind::gradient, t.step, t.index, own.slice_first + own.slice_count}, total);
}

void value_executor::put(const tensor_ref& what, std::uint64_t value) {
  tensors_[what] = value;
  // What is two steps old is never asked for again.
  std::erase_if(tensors_, [&](const auto& t) { return t.first.step + 2 < what.step; });
}

std::uint64_t value_executor::get(const tensor_ref& what) const {
  const auto at = tensors_.find(what);
  if (at == tensors_.end()) check_failed(text(what).c_str(), 0, "the tensor is here");
  return at->second;
}

std::vector<std::uint64_t> alone(const model_profile& model, std::uint64_t steps) {
  plan p;
  p.stages = {{0,
               static_cast<std::uint32_t>(model.layers.size()),
               model.micro_batch_count,
               {{{1}, 0, model.slice_count, 1}}}};
  value_executor one(p, {1}, model);
  const auto layers = static_cast<std::uint32_t>(model.layers.size());
  for (std::uint64_t step = 0; step < steps; ++step) {
    for (std::uint32_t m = 0; m < model.micro_batch_count; ++m) {
      one.run({task_kind::forward, step, m, {}}, {});
      one.run({task_kind::backward, step, m, {}}, {});
    }
    std::vector<std::uint64_t> values;
    for (std::uint32_t l = 0; l < layers; ++l) {
      one.run({task_kind::fold, step, l, {}}, {});
      values.push_back(one.run({task_kind::measure, step, l, {}}, {}).values[0]);
    }
    for (std::uint32_t l = 0; l < layers; ++l) one.run({task_kind::apply, step, l, values}, {});
  }
  std::vector<std::uint64_t> states;
  for (std::uint32_t l = 0; l < layers; ++l)
    states.push_back(one.get({tensor_kind::state, steps, l, 0}));
  return states;
}

}  // namespace perigee::planner::testing
