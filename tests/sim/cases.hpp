// Jobs and fleets for the simulator's tests, the same ones for the same seed.
#pragma once

#include "net/sim/simulate.hpp"
#include "proto/digest.hpp"
#include "tests/planner/instances.hpp"

namespace perigee::net::cases {

/// A chain of `layers` equal layers; `slices` slices of two micro-batches.
inline model_profile even_model(std::uint32_t layers, std::uint32_t slices) {
  model_profile m;
  for (std::uint32_t l = 0; l < layers; ++l) {
    layer_profile layer;
    layer.name = "l" + std::to_string(l);
    layer.forward = {20'000'000, 0, 0, 0};
    layer.backward = {40'000'000, 0, 0, 0};
    layer.kernel_count = 4;
    layer.parameters = layer.gradient = {64 * 1024};
    layer.state = {128 * 1024};
    layer.kept = {64 * 1024};
    layer.input = {4096};
    layer.output = {l + 1 == layers ? 0U : 4096U};
    layer.parameter_count = 2;
    m.layers.push_back(std::move(layer));
  }
  m.slice_size = 2;
  m.slice_count = slices;
  m.micro_batch_count = 2 * slices;
  m.micro_batch_samples = 4;
  return m;
}

/// A job whose batch sizes are the model's.
inline job_record job_of(const model_profile& m, std::uint64_t steps) {
  job_record job;
  job.spec.steps = steps;
  job.spec.micro_batch = m.micro_batch_samples;
  job.spec.mini_batch = m.micro_batch_samples * m.micro_batch_count;
  job.spec.slice = m.slice_size;
  job.spec.data.content = {1, 1};
  job.job = id_of(job.spec);
  return job;
}

struct random_case {
  model_profile model;
  job_record job;
  fleet of;
  simulation_options options;
};

/// 1-4 stages, both schedules, 1-4 replicas with even and uneven shares, 1-3 workers, any order of
/// peers, any speeds and links.
inline random_case make(std::uint64_t seed) {
  using planner::instances::between;
  random r(seed, purpose::simulation, 99);
  random_case c;
  const auto stages = static_cast<std::uint32_t>(between(r, 1, 4));
  c.model = planner::instances::model_of(r, static_cast<std::uint32_t>(between(r, stages, 7)));
  c.job = job_of(c.model, between(r, 1, 4));
  c.job.wanted.stages = stages;
  c.job.wanted.schedule = r.below(2) == 0 ? schedule_kind::gpipe : schedule_kind::one_f_one_b;
  std::uint32_t peers = 0;
  for (std::uint32_t s = 0; s < stages; ++s) {
    const auto replicas = static_cast<std::uint32_t>(between(r, 1, c.model.slice_count));
    std::uint32_t left = c.model.slice_count;
    for (std::uint32_t m = 0; m < replicas; ++m) {
      const std::uint32_t most = left - (replicas - m - 1);
      const auto share = m + 1 == replicas ? left : static_cast<std::uint32_t>(between(r, 1, most));
      c.job.wanted.shares.push_back(share);
      left -= share;
    }
    peers += replicas;
  }
  c.of.count = peers + static_cast<std::uint32_t>(r.below(2));  // one may idle
  c.of.workers = {1, 3};
  c.of.memory = {std::uint64_t{1} << 30U, std::uint64_t{4} << 30U};
  for (std::uint64_t p = 1; p <= c.of.count; ++p) c.job.wanted.order.push_back({p});
  for (std::size_t i = c.of.count; i > 1; --i) {
    std::swap(c.job.wanted.order[i - 1], c.job.wanted.order[r.below(i)]);
  }
  c.options.how = recording::hash_only;
  c.options.jitter_permille = 200;
  return c;
}

}  // namespace perigee::net::cases
