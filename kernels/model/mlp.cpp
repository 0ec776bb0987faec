#include "kernels/model/builders_internal.hpp"
#include "kernels/model/layers.hpp"

namespace perigee::kernels {

namespace {

/// PyTorch flattens [C,H,W]; our images are [H,W,C]. With one channel the two are the same.
std::uint32_t add_flatten(layer_builder& layer, const dataset_info& data, std::int64_t B) {
  if (data.C == 1) return input_value;
  const transpose_shape shape{{B, data.H, data.W, data.C}, {0, 3, 1, 2}};
  return layer.add(shape, {input_value}, B * data.C * data.H * data.W);
}

}  // namespace

result<model_graph> build_mlp(const model_spec& spec, const dataset_info& data,
                              const build_options& options) {
  for (const std::uint32_t width : spec.hidden)
    if (width == 0) return error{errc::malformed, "model.hidden: a width of 0"};

  const std::int64_t B = options.samples;
  model_graph model{{}, B, data.C * data.H * data.W, 1};
  std::int64_t C = model.sample_count;
  for (std::size_t i = 0; i <= spec.hidden.size(); ++i) {
    const bool last = i == spec.hidden.size();
    const std::string name = "fc" + std::to_string(i + 1);
    layer_builder layer(name, {B * C, element::f32});
    if (last) layer.add_targets(B);
    const std::uint32_t in = i == 0 ? add_flatten(layer, data, B) : input_value;
    const std::int64_t N = last ? data.classes : spec.hidden[i];
    const auto out = layer.add_linear({B, C, N, true}, in, name, fan_in_uniform(C));
    if (last) {
      layer.add_loss({B, N}, out);
      model.layers.push_back(layer.finished(no_value));
    } else {
      const activation_shape relu{activation_kind::relu, B * N};
      model.layers.push_back(layer.finished(layer.add(relu, {out}, B * N)));
    }
    C = N;
  }
  return model;
}

}  // namespace perigee::kernels
