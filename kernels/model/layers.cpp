#include "kernels/model/layers.hpp"

#include "proto/base/check.hpp"

#include <cmath>
#include <utility>

namespace perigee::kernels {

layer_builder::layer_builder(std::string name, value input) {
  layer_.name = std::move(name);
  add_value(input);
}

std::uint32_t layer_builder::add_value(value what) {
  layer_.values.push_back(what);
  return static_cast<std::uint32_t>(layer_.values.size() - 1);
}

void layer_builder::add_targets(std::int64_t count) {
  const auto index = add_value({count, element::i32});
  CHECK(index == target_value);
}

std::uint32_t layer_builder::add(op_shape shape, std::vector<std::uint32_t> in, std::int64_t count,
                                 std::vector<parameter> parameters) {
  const std::uint32_t out = add_value({count, element::f32});
  layer_.nodes.push_back({std::move(shape), std::move(in), out, std::move(parameters), {}});
  return out;
}

std::uint32_t layer_builder::add_batch_norm(const batch_norm_shape& s, std::uint32_t in,
                                            const std::string& prefix) {
  std::vector<parameter> parameters{{prefix + ".weight", {s.C}, {initial_kind::one, 0}},
                                    {prefix + ".bias", {s.C}, {initial_kind::zero, 0}}};
  const auto out = add(s, {in}, s.B * s.C * s.H * s.W, std::move(parameters));
  layer_.nodes.back().running = prefix;
  return out;
}

std::uint32_t layer_builder::add_linear(const linear_shape& s, std::uint32_t in,
                                        const std::string& prefix, initial begins) {
  std::vector<parameter> parameters{{prefix + ".weight", {s.N, s.C}, begins}};
  const initial zero{initial_kind::zero, 0};
  const bool uniform = begins.kind == initial_kind::uniform;
  if (s.bias) parameters.push_back({prefix + ".bias", {s.N}, uniform ? begins : zero});
  return add(s, {in}, s.R * s.N, std::move(parameters));
}

std::uint32_t layer_builder::add_convolution(const conv2d_shape& s, std::uint32_t in,
                                             const std::string& prefix) {
  const std::int64_t C = s.C / s.groups;
  const initial begins = fan_in_uniform(C * s.KH * s.KW);
  std::vector<parameter> parameters{{prefix + ".weight", {s.N, C, s.KH, s.KW}, begins}};
  if (s.bias) parameters.push_back({prefix + ".bias", {s.N}, begins});
  const std::int64_t H = convolved(s.H, s.KH, s.stride, s.padding);
  const std::int64_t W = convolved(s.W, s.KW, s.stride, s.padding);
  return add(s, {in}, s.B * s.N * H * W, std::move(parameters));
}

std::uint32_t layer_builder::add_layer_norm(const layer_norm_shape& s, std::uint32_t in,
                                            const std::string& prefix) {
  std::vector<parameter> parameters{{prefix + ".weight", {s.C}, {initial_kind::one, 0}},
                                    {prefix + ".bias", {s.C}, {initial_kind::zero, 0}}};
  return add(s, {in}, s.R * s.C, std::move(parameters));
}

void layer_builder::add_loss(const cross_entropy_shape& s, std::uint32_t logits) {
  CHECK(layer_.values.size() > target_value);
  layer_.nodes.push_back({s, {logits, target_value}, no_value, {}, {}});
  layer_.logits = logits;
}

layer_graph layer_builder::finished(std::uint32_t output) {
  layer_.output = output;
  return std::move(layer_);
}

initial fan_in_uniform(std::int64_t fan_in) {
  return {initial_kind::uniform, 1.0 / std::sqrt(static_cast<double>(fan_in))};
}

std::int64_t convolved(std::int64_t extent, std::int64_t kernel, std::int64_t stride,
                       std::int64_t padding) {
  return (extent + 2 * padding - kernel) / stride + 1;
}

}  // namespace perigee::kernels
