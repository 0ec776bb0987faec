// Building a stage: graph, operators, one arena by the account of proto/stage_memory.hpp, first
// state.

#include "kernels/engine.hpp"
#include "kernels/model/builders.hpp"
#include "kernels/model/onnx_model.hpp"
#include "kernels/model/profile.hpp"
#include "kernels/model/state.hpp"
#include "kernels/optimizer/optimizer.hpp"
#include "kernels/stage.hpp"
#include "kernels/weights.hpp"
#include "proto/base/check.hpp"
#include "proto/stage_memory.hpp"

#include <algorithm>

namespace perigee::kernels {

class stage_builder {
public:
  stage_builder(const specification& spec, const plan& what, const executor_options& options)
      : spec_(spec), plan_(what), options_(options), stage_(new stage_executor) {}

  result<std::unique_ptr<stage_executor>> built(peer_id self) {
    enter_lane();
    if (auto ok = find_place(self); !ok) return ok.why();
    if (auto ok = build_layers(); !ok) return ok.why();
    if (auto ok = reserve(); !ok) return ok.why();
    if (auto ok = begin_state(); !ok) return ok.why();
    return std::move(stage_);
  }

private:
  result<void> find_place(peer_id self) {
    where_ = place_of(plan_, self);
    if (where_.stage >= plan_.stages.size())
      return error{errc::infeasible, "build a stage: the plan has no part for " + text(self)};
    stage_executor& s = *stage_;
    s.spec_ = spec_;
    s.stage_ = plan_.stages[where_.stage];
    s.self_ = s.stage_.group[where_.index];
    s.wrong_ = options_.wrong;
    return {};
  }

  result<void> build_layers() {
    stage_executor& s = *stage_;
    s.data_ = options_.data;
    if (s.data_ == nullptr) {
      auto opened = open_dataset(spec_.data, spec_.model.context);
      if (!opened) return opened.why();
      s.data_ = *opened;
    }
    auto model = build_model(spec_.model, s.data_->info(),
                             {spec_.micro_batch, pass_kind::training, spec_.isa});
    if (!model) return model.why();
    s.layer_total_ = static_cast<std::uint32_t>(model->layers.size());
    if (s.stage_.layer_count == 0 || s.stage_.layer_first + s.stage_.layer_count > s.layer_total_)
      return error{errc::infeasible, "build a stage: the plan names layers that the model lacks"};
    s.sample_count_ = model->sample_count;
    s.target_count_ = model->target_count;
    profile_ = blank_profile(spec_, s.layer_total_);
    s.lanes_.resize(lane_count(s.self_));
    std::size_t parameters = 0;
    for (const layer_graph& layer : model->layers) parameters += parameters_of(layer).size();
    for (stage_lane& lane : s.lanes_) lane.squares.resize(parameters);
    for (std::uint32_t i = 0; i < s.stage_.layer_count; ++i)
      if (auto ok = build_layer(model->layers[s.stage_.layer_first + i]); !ok) return ok;
    return {};
  }

  result<void> build_layer(layer_graph& graph) {
    stage_executor& s = *stage_;
    const auto role = s.has_first() && s.layers_.empty() ? layer_role::first : layer_role::later;
    auto layer = std::make_unique<stage_layer>();
    layer->model.graph = std::move(graph);
    layer->model.layout = layout_of(layer->model.graph, optimizer(spec_.optimizer).moment_count());
    for (std::size_t lane = 0; lane < s.lanes_.size(); ++lane) {
      auto operators = build_operators(layer->model.graph);
      if (!operators) return operators.why();
      if (lane == 0) {
        layer->model.program = program_of(layer->model.graph, *operators, role);
        layer->profile =
            profile_of(layer->model.graph, layer->model.layout, layer->model.program, *operators);
        profile_.layers[s.stage_.layer_first + s.layers_.size()] = layer->profile;
      }
      s.lanes_[lane].layers.emplace_back(layer->model, std::move(*operators));
    }
    s.layers_.push_back(std::move(layer));
    return {};
  }

  // --- memory
  // -------------------------------------------------------------------------------------

  result<void> reserve() {
    stage_executor& s = *stage_;
    const bytes size = stage_memory(profile_, plan_, where_);
    auto block = arena::reserved(size);
    if (!block) return block.why();
    s.arena_ = std::move(*block);
    lay_out_slot();
    take_layers();
    take_lanes();
    CHECK(s.arena_.taken() == total(account_of(profile_, plan_, where_)));
    return {};
  }

  /// Returns the offset of a part and moves `size` behind it.
  static std::size_t part(std::size_t& size, bytes of) {
    const std::size_t at = size;
    size += (of.count + 63) / 64 * 64;
    return at;
  }

  void lay_out_slot() {
    stage_executor& s = *stage_;
    slot_layout& slot = s.slot_;
    const bytes input = s.layers_.front()->profile.input;
    (s.has_first() ? slot.samples : slot.input_gradient) = part(slot.size, input);
    for (const auto& layer : s.layers_) {
      slot.kept.push_back(part(slot.size, {layer->model.program.kept_bytes}));
      if (layer->model.graph.output == no_value)
        slot.targets =
            part(slot.size, layer->profile.kept - bytes{layer->model.program.kept_bytes});
      else
        slot.output.push_back(part(slot.size, layer->profile.output));
    }
    if (!s.has_last()) slot.output_gradient = part(slot.size, s.layers_.back()->profile.output);
  }

  void take_layers() {
    stage_executor& s = *stage_;
    const auto group = static_cast<std::uint32_t>(s.stage_.group.size());
    for (const auto& layer : s.layers_) {
      const layer_layout& layout = layer->model.layout;
      layer->state = s.arena_.take_floats(layout.state_floats());
      layer->packed = s.arena_.take(layer->model.program.packed_bytes);
      for (std::uint32_t k = 0; k < s.self_.slice_count; ++k)
        layer->slices.push_back(s.arena_.take_floats(layout.slice_floats(profile_.slice_size)));

      layer_rooms rooms;
      rooms.state = std::as_bytes(std::span<const float>(layer->state, layout.state_floats()));
      rooms.gradient_size = layout.gradient_floats() * sizeof(float);
      rooms.totals.resize(totals_of(where_.index, group));
      for (total_slot& total : rooms.totals) total.data = s.arena_.take(rooms.gradient_size);
      layers_.push_back(std::move(rooms));
    }
    for (std::uint32_t k = 0; k < s.self_.slice_count; ++k)
      s.slice_sizes_.push_back(micro_batches_of(profile_, {s.self_.slice_first + k, 1}));
    s.slice_next_.resize(s.self_.slice_count);
  }

  void take_lanes() {
    stage_executor& s = *stage_;
    std::size_t transient = 0, boundary = 0;
    for (std::size_t i = 0; i < s.layers_.size(); ++i) {
      transient = std::max(transient, s.layers_[i]->model.program.transient_bytes);
      if (i + 1 < s.layers_.size())
        boundary = std::max<std::size_t>(boundary, s.layers_[i]->profile.output.count);
    }
    std::vector<std::vector<micro_slot>> lanes(s.lanes_.size());
    for (std::uint32_t k = 0; k < s.lanes_.size(); ++k) {
      stage_lane& lane = s.lanes_[k];
      lane.transient = s.arena_.take(transient);
      for (std::size_t b = 0; b < std::min<std::size_t>(2, s.layers_.size() - 1); ++b)
        lane.boundaries[b] = s.arena_.take(boundary);
      lane.targets.resize(static_cast<std::size_t>(s.target_count_));
      lanes[k].resize(slots_of_lane(profile_, s.stage_, s.self_, k));
      for (micro_slot& slot : lanes[k]) slot.data = s.arena_.take(s.slot_.size);
    }
    std::vector<input_slot> inputs(input_slots_of(profile_, plan_, where_));
    for (input_slot& slot : inputs)
      slot.data = s.arena_.take(s.layers_.front()->profile.input.count);
    s.rooms_ = std::make_unique<stage_rooms>(shape_of_rooms(), std::move(layers_), std::move(lanes),
                                             std::move(inputs));
  }

  [[nodiscard]] rooms_shape shape_of_rooms() const {
    const stage_executor& s = *stage_;
    rooms_shape r;
    r.layer_first = s.stage_.layer_first;
    r.layer_count = s.stage_.layer_count;
    r.first_stage = s.has_first();
    r.last_stage = s.has_last();
    r.slice_first = s.self_.slice_first;
    r.slice_end = s.self_.slice_first + s.self_.slice_count;
    r.slice_count = profile_.slice_count;
    r.micro_first = s.self_.slice_first * profile_.slice_size;
    r.micro_end =
        r.micro_first + micro_batches_of(profile_, {s.self_.slice_first, s.self_.slice_count});
    const std::size_t input = s.layers_.front()->profile.input.count;
    const std::size_t output = s.layers_.back()->profile.output.count;
    r.input_size = input;
    r.input_gradient = {s.slot_.input_gradient, input};
    if (!r.last_stage) r.output = {s.slot_.output.back(), output};
    r.output_gradient = {s.slot_.output_gradient, output};
    return r;
  }

  // --- the first state
  // ----------------------------------------------------------------------------

  result<void> read_initial(tensor_file& into) const {
    if (spec_.initial_content != digest128{}) {
      const auto content = content_of(spec_.initial_weights);
      if (!content) return content.why();
      if (*content != spec_.initial_content)
        return error{errc::malformed,
                     spec_.initial_weights + ": not the content that the job names"};
    }
    auto file = read_safetensors(spec_.initial_weights);
    if (!file) return file.why();
    into = std::move(*file);
    return {};
  }

  result<void> read_model_weights(tensor_file& into) const {
    const auto graph = read_model(spec_.model);
    if (!graph) return graph.why();
    auto file = weights_in(*graph, spec_.model);
    if (!file) return file.why();
    into = std::move(*file);
    return {};
  }

  result<void> begin_state() {
    stage_executor& s = *stage_;
    tensor_file read;
    const tensor_file* initial = options_.initial;
    if (initial == nullptr && spec_.initial_weights.empty() &&
        spec_.model.kind == model_kind::onnx) {
      if (auto ok = read_model_weights(read); !ok) return ok;
      initial = &read;
    }
    if (initial == nullptr && !spec_.initial_weights.empty()) {
      if (auto ok = read_initial(read); !ok) return ok;
      initial = &read;
    }
    for (std::size_t i = 0; i < s.layers_.size(); ++i) {
      stage_layer& layer = *s.layers_[i];
      const layer_model& m = layer.model;
      const std::span<float> state{layer.state, m.layout.state_floats()};
      if (initial == nullptr)
        draw_state(m.graph, m.layout, spec_.seed, state);
      else if (auto ok = read_state(m.graph, m.layout, *initial, state); !ok)
        return ok;
      s.lanes_.front().layers[i].pack(layer.state, layer.packed, s.lanes_.front().transient);
    }
    return {};
  }

  const specification& spec_;
  const plan& plan_;
  const executor_options& options_;
  std::unique_ptr<stage_executor> stage_;
  place where_;
  model_profile profile_;
  std::vector<layer_rooms> layers_;
};

result<std::unique_ptr<stage_executor>> stage_executor::built(const specification& spec,
                                                              const plan& what, peer_id self,
                                                              const executor_options& options) {
  return stage_builder(spec, what, options).built(self);
}

}  // namespace perigee::kernels
