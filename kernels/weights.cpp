#include "kernels/weights.hpp"

#include "kernels/format/file.hpp"
#include "kernels/model/builders.hpp"
#include "kernels/model/state.hpp"
#include "kernels/optimizer/optimizer.hpp"
#include "proto/digest.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace perigee::kernels {

namespace {

result<model_graph> graph_of(const specification& spec, const dataset_info& data) {
  return build_model(spec.model, data, {spec.micro_batch, pass_kind::training, spec.isa});
}

layer_layout layout_in(const specification& spec, const layer_graph& layer) {
  return layout_of(layer, optimizer(spec.optimizer).moment_count());
}

result<std::vector<named_tensor>> named(const specification& spec, const layer_graph& layer,
                                        std::span<const std::byte> state) {
  const layer_layout layout = layout_in(spec, layer);
  if (state.size() != layout.state_floats() * sizeof(float))
    return error{errc::malformed, "state of layer " + layer.name + ": " +
                                      std::to_string(state.size()) + " bytes, the model has " +
                                      std::to_string(layout.state_floats() * sizeof(float))};
  // A copy: what came over a wire may lie anywhere.
  std::vector<float> values(layout.state_floats());
  std::memcpy(values.data(), state.data(), state.size());
  return written_state(layer, layout, values);
}

}  // namespace

result<std::vector<named_tensor>> parameters_of(const specification& spec, const dataset_info& data,
                                                std::uint32_t layer,
                                                std::span<const std::byte> state) {
  auto model = graph_of(spec, data);
  if (!model) return model.why();
  if (layer >= model->layers.size())
    return error{errc::malformed, "weights: layer " + std::to_string(layer) + " of a model of " +
                                      std::to_string(model->layers.size())};
  return named(spec, model->layers[layer], state);
}

result<std::vector<named_tensor>> parameters_of(const specification& spec, std::uint32_t layer,
                                                std::span<const std::byte> state) {
  auto data = open_dataset(spec.data, spec.model.context);
  if (!data) return data.why();
  return parameters_of(spec, (*data)->info(), layer, state);
}

result<std::vector<bytes>> state_sizes(const specification& spec, const dataset_info& data) {
  auto model = graph_of(spec, data);
  if (!model) return model.why();
  std::vector<bytes> sizes;
  for (const auto& layer : model->layers) {
    sizes.push_back({layout_in(spec, layer).state_floats() * sizeof(float)});
  }
  return sizes;
}

result<tensor_file> weights_of(const specification& spec, const dataset_info& data,
                               std::span<const std::span<const std::byte>> states) {
  auto model = graph_of(spec, data);
  if (!model) return model.why();
  if (states.size() != model->layers.size())
    return error{errc::malformed, "weights: " + std::to_string(states.size()) +
                                      " states for a model of " +
                                      std::to_string(model->layers.size()) + " layers"};
  tensor_file file;
  for (std::size_t i = 0; i < states.size(); ++i) {
    auto tensors = named(spec, model->layers[i], states[i]);
    if (!tensors) return tensors.why();
    std::move(tensors->begin(), tensors->end(), std::back_inserter(file.tensors));
  }
  return file;
}

result<void> check_initial_weights(const specification& spec) {
  if (spec.initial_weights.empty()) return {};
  const auto file = read_safetensors(spec.initial_weights);
  if (!file) return file.why();
  const auto data = open_dataset(spec.data, spec.model.context);
  if (!data) return data.why();
  const auto model = graph_of(spec, (*data)->info());
  if (!model) return model.why();
  for (const layer_graph& layer : model->layers) {
    const layer_layout layout = layout_in(spec, layer);
    std::vector<float> state(layout.state_floats());
    if (auto fits = read_state(layer, layout, *file, state); !fits)
      return error{fits.why().code, spec.initial_weights + ": " + fits.why().what};
  }
  return {};
}

result<digest128> content_of(const std::string& path) {
  auto file = input_file::open(path);
  if (!file) return file.why();
  constexpr std::uint64_t piece_bytes = 1U << 20U;
  std::vector<std::byte> piece(piece_bytes);
  digester sum;
  for (std::uint64_t at = 0; at < file->size(); at += piece_bytes) {
    const auto part = std::span(piece).first(std::min(piece_bytes, file->size() - at));
    if (auto ok = file->read_at(at, part); !ok) return ok.why();
    sum.add(part);
  }
  return sum.value();
}

}  // namespace perigee::kernels
