#include "kernels/whole_model.hpp"

#include "kernels/engine.hpp"
#include "kernels/model/builders.hpp"
#include "kernels/model/profile.hpp"
#include "kernels/model/state.hpp"

#include <algorithm>

namespace perigee::kernels {

namespace {

constexpr std::size_t rounded(std::size_t size) noexcept { return (size + 63) / 64 * 64; }

/// The greatest of what the layers want one after the other.
struct greatest {
  std::size_t boundary = 0, kept = 0, transient = 0, states = 0;
};

std::size_t value_bytes(const layer_graph& layer, std::uint32_t v) {
  return rounded(static_cast<std::size_t>(layer.values[v].count) * 4);
}

greatest greatest_of(const std::vector<std::unique_ptr<layer_model>>& layers) {
  greatest g;
  for (const auto& layer : layers) {
    g.kept = std::max(g.kept, rounded(layer->program.kept_bytes));
    g.transient = std::max(g.transient, rounded(layer->program.transient_bytes));
    g.states += rounded(layer->layout.state_floats() * sizeof(float)) +
                rounded(layer->program.packed_bytes);
    if (layer->graph.output != no_value)
      g.boundary = std::max(g.boundary, value_bytes(layer->graph, layer->graph.output));
  }
  return g;
}

}  // namespace

result<std::unique_ptr<whole_model>> whole_model::built(const specification& spec,
                                                        const dataset_info& data,
                                                        const tensor_file& weights,
                                                        std::int64_t samples) {
  enter_lane();
  auto model = build_model(spec.model, data, {samples, pass_kind::evaluation, spec.isa});
  if (!model) return model.why();
  std::unique_ptr<whole_model> whole(new whole_model);
  for (layer_graph& graph : model->layers) {
    auto operators = build_operators(graph);
    if (!operators) return operators.why();
    auto layer = std::make_unique<layer_model>();
    layer->program = program_of(graph, *operators, layer_role::first);
    layer->layout = layout_of(graph, 0);
    layer->graph = std::move(graph);
    whole->layers_.emplace_back(*layer, std::move(*operators));
    whole->models_.push_back(std::move(layer));
  }
  if (auto ok = whole->reserve(); !ok) return ok.why();
  if (auto ok = whole->read(weights); !ok) return ok.why();
  whole->sample_bytes_ = static_cast<std::size_t>(model->sample_count) * 4;
  return whole;
}

result<void> whole_model::reserve() {
  const greatest g = greatest_of(models_);
  const layer_graph& first = models_.front()->graph;
  const layer_graph& last = models_.back()->graph;
  const std::size_t input = value_bytes(first, input_value);
  const std::size_t targets = value_bytes(last, target_value);
  auto block =
      arena::reserved({input + targets + 2 * g.boundary + g.kept + g.transient + g.states});
  if (!block) return block.why();
  memory_ = std::move(*block);
  input_ = memory_.take(input);
  targets_ = {reinterpret_cast<std::int32_t*>(memory_.take(targets)),
              static_cast<std::size_t>(last.values[target_value].count)};
  for (std::byte*& boundary : boundaries_) boundary = memory_.take(g.boundary);
  kept_ = memory_.take(g.kept);
  transient_ = memory_.take(g.transient);
  for (const auto& layer : models_)
    places_.push_back({memory_.take_floats(layer->layout.state_floats()),
                       memory_.take(layer->program.packed_bytes)});
  const spot logits = models_.back()->program.values[last.logits];
  logits_ = {reinterpret_cast<const float*>(kept_ + logits.offset),
             static_cast<std::size_t>(last.values[last.logits].count)};
  return {};
}

result<void> whole_model::read(const tensor_file& weights) {
  for (std::size_t i = 0; i < models_.size(); ++i) {
    const layer_model& m = *models_[i];
    const std::span<float> state{places_[i].state, m.layout.state_floats()};
    if (auto ok = read_state(m.graph, m.layout, weights, state); !ok) return ok;
    layers_[i].pack(places_[i].state, places_[i].packed, transient_);
  }
  return {};
}

double whole_model::run() {
  double loss = 0;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    layer_pass pass;
    const auto set = [&](region where, std::byte* base) {
      pass.bases[static_cast<std::size_t>(where)] = base;
    };
    set(region::input, i == 0 ? input_ : boundaries_[(i - 1) % 2]);
    set(region::output, boundaries_[i % 2]);
    set(region::targets, reinterpret_cast<std::byte*>(targets_.data()));
    set(region::kept, kept_);
    set(region::transient, transient_);
    pass.state = places_[i].state;
    pass.running = places_[i].state + models_[i]->layout.state_running();
    pass.packed = places_[i].packed;
    pass.loss = &loss;
    layers_[i].forward(pass);
  }
  return loss;
}

}  // namespace perigee::kernels
