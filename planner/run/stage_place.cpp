#include "planner/run/stage_place.hpp"

#include "proto/base/check.hpp"

namespace perigee::planner {

peer_id stage_place::owner_of(std::uint32_t stage_index, std::uint32_t micro_batch) const {
  CHECK(stage_index < whole.stages.size() && micro_batch < model.micro_batch_count);
  const std::uint32_t slice = micro_batch / model.slice_size;
  for (const member& m : whole.stages[stage_index].group)
    if (slice >= m.slice_first && slice - m.slice_first < m.slice_count) return m.peer;
  return {};
}

bool stage_place::has_micro_batch(std::uint32_t micro_batch) const {
  if (micro_batch >= model.micro_batch_count) return false;
  const std::uint32_t slice = micro_batch / model.slice_size;
  return slice >= slices_before() && slice < slices_with();
}

peer_id stage_place::sender_of(const tensor_ref& what) const {
  switch (what.kind) {
    case tensor_kind::activation:
      if (first_stage() || what.layer != own_stage().layer_first) return {};
      return has_micro_batch(what.index) ? owner_of(where.stage - 1, what.index) : peer_id{};
    case tensor_kind::activation_gradient:
      if (last_stage() || what.layer != layer_end()) return {};
      return has_micro_batch(what.index) ? owner_of(where.stage + 1, what.index) : peer_id{};
    case tensor_kind::gradient:
      if (!has_layer(what.layer)) return {};
      if (!first_member() && what.index == slices_before()) return left();
      return !last_member() && what.index == model.slice_count ? right() : peer_id{};
    case tensor_kind::state:
      return {};
  }
  return {};
}

bytes stage_place::size_of(const tensor_ref& what) const {
  if (what.layer >= model.layers.size()) return {};
  const layer_profile& layer = model.layers[what.layer];
  switch (what.kind) {
    case tensor_kind::activation:
    case tensor_kind::activation_gradient:
      return layer.input;
    case tensor_kind::gradient:
      return layer.gradient;
    case tensor_kind::state:
      return layer.state;
  }
  return {};
}

}  // namespace perigee::planner
