#include "planner/plan/layer_sums.hpp"

#include "proto/stage_memory.hpp"

#include <algorithm>
#include <map>

namespace perigee::planner {

namespace {

constexpr std::uint64_t rounded(bytes size) noexcept { return (size.count + 63) / 64 * 64; }

}  // namespace

layer_sums::layer_sums(const planning_space& space)
    : model_(*space.model), layers_(static_cast<std::uint32_t>(space.model->layers.size())) {
  std::map<speed, std::size_t> known;
  for (const peer_record& record : space.swarm->peers()) {
    const auto [at, fresh] = known.emplace(record.rate, pass_.size());
    class_.push_back(at->second);
    if (!fresh) continue;
    std::vector<duration::rep> pass{0};
    std::vector<duration::rep> update{0};
    for (const layer_profile& layer : model_.layers) {
      pass.push_back(pass.back() + layer_time(layer, record.rate).both().count());
      update.push_back(update.back() + update_time(layer, record.rate).count());
    }
    pass_.push_back(std::move(pass));
    update_.push_back(std::move(update));
  }
  states_ = gradients_ = slices_ = kept_ = {0};
  for (const layer_profile& layer : model_.layers) {
    states_.push_back(states_.back() + rounded(layer.state) + rounded(layer.packed));
    gradients_.push_back(gradients_.back() + rounded(layer.gradient));
    slices_.push_back(slices_.back() + rounded(layer.gradient) +
                      rounded(layer.statistics) * model_.slice_size);
    kept_.push_back(kept_.back() + rounded(layer.kept) + rounded(layer.output));
  }
}

bytes layer_sums::least_memory(layer_range r, const membership_of_group& who) const noexcept {
  const std::uint64_t own = micro_batches_of(model_, {0, 1});
  const std::uint64_t slots = std::min<std::uint64_t>(2, own);
  const std::uint64_t input = rounded(model_.layers[r.first].input);
  std::uint64_t slot = input + kept_[r.end] - kept_[r.first];
  if (r.end < layers_) slot += rounded(model_.layers[r.end - 1].output);
  return {states_[r.end] - states_[r.first] +
          (gradients_[r.end] - gradients_[r.first]) * totals_of(who.index, who.size) +
          (slices_[r.end] - slices_[r.first]) * who.slices + slot * slots +
          (r.first > 0 ? input : 0)};
}

duration::rep layer_sums::reduce(layer_range r, std::uint32_t members,
                                 const link_estimate& link) const noexcept {
  return reduce_time(model_, r.first, r.end - r.first, members, link).count();
}

}  // namespace perigee::planner
