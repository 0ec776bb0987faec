#include "tests/support/sequential_run.hpp"

#include "kernels/optimizer/clip.hpp"
#include "proto/base/check.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace perigee::test {

sequential_run::sequential_run(const specification& spec, plan what, const maker& make)
    : spec_(spec), plan_(std::move(what)) {
  for (const stage& s : plan_.stages) {
    executors_.emplace_back();
    for (const member& m : s.group) executors_.back().push_back(make(m.peer));
  }
}

sequential_run::worker sequential_run::worker_of(std::uint32_t stage, std::uint32_t micro_batch) {
  const std::uint32_t slice = micro_batch / slice_size(spec_);
  const auto& group = plan_.stages[stage].group;
  for (std::size_t i = 0; i < group.size(); ++i) {
    for (std::uint32_t lane = 0; lane < lane_count(group[i]); ++lane) {
      const slice_range own = slices_of_lane(group[i], lane);
      if (slice >= own.first && slice < own.first + own.count)
        return {executors_[stage][i].get(), lane};
    }
  }
  CHECK(false);
  return {};
}

void sequential_run::carry(executor& from, executor& to, const tensor_ref& what) {
  const auto out = from.hold(what);
  const auto in = to.room(what);
  CHECK(!out.empty() && out.size() == in.size());
  std::memcpy(in.data(), out.data(), out.size());
  to.arrived(what);
  from.release(what);
}

outcome sequential_run::forward(std::uint64_t step, std::uint32_t m) {
  outcome o;
  for (std::uint32_t s = 0; s < plan_.stages.size(); ++s) {
    const worker w = worker_of(s, m);
    if (s > 0)
      carry(*worker_of(s - 1, m).who, *w.who,
            {tensor_kind::activation, step, plan_.stages[s].layer_first, m});
    o = w.who->run(w.lane, {task_kind::forward, step, m, {}});
    if (!o.finite) return o;
  }
  return o;
}

void sequential_run::backward(std::uint64_t step, std::uint32_t m) {
  for (auto s = static_cast<std::uint32_t>(plan_.stages.size()); s-- > 0;) {
    const worker w = worker_of(s, m);
    if (s + 1 < plan_.stages.size())
      carry(*worker_of(s + 1, m).who, *w.who,
            {tensor_kind::activation_gradient, step, plan_.stages[s + 1].layer_first, m});
    (void)w.who->run(w.lane, {task_kind::backward, step, m, {}});
  }
}

void sequential_run::reduce(std::uint32_t stage, std::uint32_t layer, std::uint64_t step) {
  const auto& group = plan_.stages[stage].group;
  auto& peers = executors_[stage];
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (i > 0)
      carry(*peers[i - 1], *peers[i], {tensor_kind::gradient, step, layer, group[i].slice_first});
    (void)peers[i]->run(0, {task_kind::fold, step, layer, {}});
  }
  for (std::size_t i = group.size() - 1; i > 0; --i)
    carry(*peers[i], *peers[i - 1], {tensor_kind::gradient, step, layer, slice_count(spec_)});
}

void sequential_run::update(std::uint64_t step, step_record& record) {
  std::vector<std::uint64_t> values;
  for (std::uint32_t s = 0; s < plan_.stages.size(); ++s) {
    const stage& part = plan_.stages[s];
    for (std::uint32_t l = part.layer_first; l < part.layer_first + part.layer_count; ++l) {
      reduce(s, l, step);
      outcome o;
      for (auto& peer : executors_[s]) o = peer->run(0, {task_kind::measure, step, l, {}});
      values.insert(values.end(), o.values.begin(), o.values.end());
      if (!o.finite && record.finite) record.finite = false, record.where = o.where;
      record.loss = std::bit_cast<double>(o.loss_bits);
      record.counted = o.counted;
    }
  }
  std::vector<double> squares;
  for (const std::uint64_t v : values) squares.push_back(std::bit_cast<double>(v));
  record.norm = kernels::gradient_norm(squares);
  if (!record.finite) return;
  for (std::uint32_t s = 0; s < plan_.stages.size(); ++s) {
    const stage& part = plan_.stages[s];
    for (std::uint32_t l = part.layer_first; l < part.layer_first + part.layer_count; ++l) {
      for (std::size_t i = 0; i < executors_[s].size(); ++i) {
        const auto lane = l % lane_count(part.group[i]);
        const outcome o = executors_[s][i]->run(lane, {task_kind::apply, step, l, values});
        const digest128 digest{o.values[0], o.values[1]};
        if (i == 0) record.layers.push_back(digest);
        CHECK(record.layers.back() == digest);  // replicas hold one state
      }
    }
  }
}

step_record sequential_run::step(std::uint64_t number, std::uint32_t depth) {
  step_record record;
  const std::uint32_t M = micro_batch_count(spec_);
  for (std::uint32_t first = 0; first < M; first += depth) {
    const std::uint32_t end = std::min(M, first + depth);
    for (std::uint32_t m = first; m < end; ++m) {
      const outcome o = forward(number, m);
      if (o.finite) continue;
      record.finite = false, record.where = o.where;
      return record;
    }
    for (std::uint32_t m = first; m < end; ++m) backward(number, m);
  }
  update(number, record);
  return record;
}

std::vector<std::byte> sequential_run::state(std::uint32_t layer, std::uint64_t step) {
  for (auto& peers : executors_) {
    const tensor_ref ref{tensor_kind::state, step, layer, 0};
    const auto bytes = peers.front()->hold(ref);
    if (bytes.empty()) continue;
    std::vector<std::byte> copy(bytes.begin(), bytes.end());
    peers.front()->release(ref);
    return copy;
  }
  return {};
}

plan plan_of(const std::vector<stage_wish>& stages) {
  plan p;
  std::uint32_t layer = 0;
  std::uint64_t peer = 1;
  for (const stage_wish& wish : stages) {
    stage s{layer, wish.layers, wish.in_flight_max, {}};
    std::uint32_t slice = 0;
    for (const std::uint32_t count : wish.slices) {
      s.group.push_back({peer_id{peer++}, slice, count, wish.workers});
      slice += count;
    }
    layer += wish.layers;
    p.stages.push_back(s);
  }
  return p;
}

plan plan_of_one(const specification& spec, std::uint32_t layers, std::uint32_t workers) {
  return plan_of({{layers, {slice_count(spec)}, workers, 1}});
}

}  // namespace perigee::test
