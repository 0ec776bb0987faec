#include "kernels/model/layout.hpp"

namespace perigee::kernels {

namespace {

constexpr std::size_t rounded(std::size_t floats) noexcept { return (floats + 15) / 16 * 16; }

}  // namespace

layer_layout layout_of(const layer_graph& layer, std::size_t moments) {
  layer_layout layout;
  layout.moments = moments;
  for (const node& n : layer.nodes) {
    for (const parameter& p : n.parameters) {
      const auto count = static_cast<std::size_t>(count_of(p.shape));
      layout.parameters.push_back({layout.parameter_floats, count});
      layout.parameter_floats += rounded(count);
    }
    if (n.running.empty()) continue;
    const auto channels = static_cast<std::size_t>(std::get<batch_norm_shape>(n.shape).C);
    layout.running.push_back({n.running, layout.running_floats, channels, n.momentum});
    layout.running_floats += rounded(2 * channels);
  }
  return layout;
}

std::vector<const parameter*> parameters_of(const layer_graph& layer) {
  std::vector<const parameter*> all;
  for (const node& n : layer.nodes)
    for (const parameter& p : n.parameters) all.push_back(&p);
  return all;
}

}  // namespace perigee::kernels
