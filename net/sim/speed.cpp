#include "net/sim/speed.hpp"

#include "net/sim/simulate.hpp"
#include "proto/base/check.hpp"

#include <algorithm>

namespace perigee::net {

simulator_load run_standard_swarm(std::uint32_t peers, std::uint64_t steps) {
  constexpr std::uint32_t layers = 12;
  model_profile model;
  for (std::uint32_t l = 0; l < layers; ++l) {
    layer_profile layer;
    layer.forward = {20'000'000, 0, 0, 1'000'000};
    layer.backward = {40'000'000, 0, 0, 2'000'000};
    layer.parameters = layer.gradient = {64 * 1024};
    layer.state = {128 * 1024};
    layer.kept = {64 * 1024};
    layer.input = {4096};
    layer.output = {l + 1 == layers ? 0U : 4096U};
    model.layers.push_back(layer);
  }
  model.slice_size = 2;
  model.slice_count = 8;
  model.micro_batch_count = 16;
  model.micro_batch_samples = 4;
  job_record job;
  job.job = {{1, 1}};
  job.spec.steps = steps;
  job.spec.mini_batch = 64;
  job.spec.micro_batch = 4;
  job.spec.slice = 2;
  job.wanted.stages = std::min(3U, peers);
  simulation_options options;
  options.how = recording::hash_only;
  const auto report = simulate(job, model, {.count = peers}, 1, options);
  CHECK(report && report->equal);
  return {report->events, report->trace_hash};
}

}  // namespace perigee::net
