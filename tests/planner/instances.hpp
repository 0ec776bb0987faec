// Random small planning problems, the same ones for the same seed.
#pragma once

#include "planner/plan/partition.hpp"
#include "proto/base/random.hpp"

#include <algorithm>

namespace perigee::planner::instances {

inline std::uint64_t between(random& r, std::uint64_t low, std::uint64_t high) {
  return low + r.below(high - low + 1);
}

inline model_profile model_of(random& r, std::uint32_t layers) {
  model_profile m;
  for (std::uint32_t l = 0; l < layers; ++l) {
    layer_profile layer;
    layer.name = "l";
    layer.name += std::to_string(l);
    layer.forward = {between(r, 1, 40) * 100'000, between(r, 0, 9) * 100'000, 0, 50'000};
    layer.backward = {layer.forward[0] * 2, layer.forward[1] * 2, 0, 100'000};
    layer.kernel_count = static_cast<std::uint32_t>(between(r, 1, 9));
    layer.parameters = {between(r, 1, 64) * 1024};
    layer.state = layer.parameters * 3;
    layer.gradient = layer.parameters;
    layer.kept = {between(r, 1, 64) * 1024};
    layer.transient = {between(r, 0, 64) * 1024};
    layer.input = l == 0 ? bytes{4096} : m.layers.back().output;
    layer.output = l + 1 == layers ? bytes{} : bytes{between(r, 1, 64) * 512};
    layer.parameter_count = 2;
    m.layers.push_back(std::move(layer));
  }
  m.slice_size = static_cast<std::uint32_t>(between(r, 1, 3));
  m.slice_count = static_cast<std::uint32_t>(between(r, 1, 4));
  // The last slice may be short.
  m.micro_batch_count =
      m.slice_size * m.slice_count - static_cast<std::uint32_t>(r.below(m.slice_size));
  m.micro_batch_samples = 4;
  return m;
}

inline std::vector<peer_record> peers_of(random& r, std::uint32_t count, bytes offer_max) {
  std::vector<peer_record> peers;
  for (std::uint32_t p = 0; p < count; ++p) {
    peer_record record;
    record.peer = {p + 1};
    record.workers = static_cast<std::uint32_t>(between(r, 1, 3));
    record.memory_offer = {between(r, 1, offer_max.count)};
    const std::uint64_t rate = between(r, 1, 8) * 1'000'000'000;
    record.rate = {rate, rate / 2, rate / 4, rate};
    peers.push_back(std::move(record));
  }
  return peers;
}

}  // namespace perigee::planner::instances
