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

/// 1-4 stages, both schedules, 1-4 replicas with even and uneven shares, any order of peers; one
/// peer more than needed may be there. Sets the number of peers.
inline wishes wishes_of(random& r, const model_profile& m, std::uint32_t& peers) {
  using planner::instances::between;
  wishes w;
  const std::size_t most_stages = std::min<std::size_t>(4, m.layers.size());
  w.stages = static_cast<std::uint32_t>(between(r, 1, most_stages));
  w.schedule = r.below(2) == 0 ? schedule_kind::gpipe : schedule_kind::one_f_one_b;
  peers = static_cast<std::uint32_t>(r.below(2));
  for (std::uint32_t s = 0; s < w.stages; ++s) {
    const auto replicas = static_cast<std::uint32_t>(between(r, 1, std::min(4U, m.slice_count)));
    std::uint32_t left = m.slice_count;
    for (std::uint32_t i = 0; i < replicas; ++i) {
      const std::uint32_t most = left - (replicas - i - 1);
      w.shares.push_back(i + 1 == replicas ? left
                                           : static_cast<std::uint32_t>(between(r, 1, most)));
      left -= w.shares.back();
    }
    peers += replicas;
  }
  for (std::uint64_t p = 1; p <= peers; ++p) w.order.push_back({p});
  for (std::size_t i = peers; i > 1; --i) std::swap(w.order[i - 1], w.order[r.below(i)]);
  return w;
}

/// Any model, plan, speeds, links and 1-3 workers.
inline random_case make(std::uint64_t seed) {
  using planner::instances::between;
  random r(seed, purpose::simulation, 99);
  random_case c;
  c.model = planner::instances::model_of(r, static_cast<std::uint32_t>(between(r, 1, 7)));
  c.job = job_of(c.model, between(r, 1, 4));
  c.job.wanted = wishes_of(r, c.model, c.of.count);
  c.of.workers = {1, 3};
  c.options.how = recording::hash_only;
  c.options.jitter_permille = 200;
  return c;
}

}  // namespace perigee::net::cases
