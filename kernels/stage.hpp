// A stage: the real executor of one peer's part of a job (proto/executor.hpp).
//
// It runs its layers' operators over each micro-batch on as many lanes as the plan says, folds the
// slices in their one order, and updates the state. All tensors lie in one arena that is reserved
// when the stage is built, by the account of proto/stage_memory.hpp.
//
// Guarantees  the bits of every tensor are a function of the specification alone, whatever the
//             plan; running reserves nothing.
// Requires    that tasks come in the pipeline machine's order: micro-batches of a slice go backward
//             in order, a layer is folded after its slices, measured, then applied. A broken order
//             is a bug of ours and ends the process.
// Threads     as `executor`: `run` once at a time for each lane; the rest from anywhere.
#pragma once

#include "kernels/arena.hpp"
#include "kernels/data/dataset.hpp"
#include "kernels/fold.hpp"
#include "kernels/format/safetensors.hpp"
#include "kernels/layer_runner.hpp"
#include "kernels/stage_rooms.hpp"
#include "proto/executor.hpp"
#include "proto/job.hpp"
#include "proto/model_profile.hpp"
#include "proto/plan.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace perigee::kernels {

struct executor_options {
  std::shared_ptr<const dataset> data{};  // null = opened from the specification
  const tensor_file* initial = nullptr;   // null = read from `initial_weights`, or drawn
  sabotage wrong = sabotage::none;        // tests only
};

/// As executor_factory.hpp's, with what the caller has already.
result<std::unique_ptr<executor>> executor_for(const specification& spec, const plan& what,
                                               peer_id self, const executor_options& options);

/// As executor_factory.hpp's, for data that are open already.
result<model_profile> profile_of(const specification& spec, const dataset_info& data);

/// The offsets of a micro-batch's parts in its slot. Indices count the stage's layers.
struct slot_layout {
  std::size_t samples = 0;         // first stage
  std::size_t input_gradient = 0;  // other stages
  std::vector<std::size_t> kept;
  std::vector<std::size_t> output;  // all but the model's last layer
  std::size_t targets = 0;          // last stage
  std::size_t output_gradient = 0;  // all but the last stage
  std::size_t size = 0;
};

/// What one lane has for itself.
struct stage_lane {
  std::vector<layer_runner> layers;
  std::byte* transient = nullptr;
  std::byte* boundaries[2] = {nullptr, nullptr};  // gradients inside the stage, by turns
  std::vector<std::int32_t> targets;              // of one sample
  std::vector<double> squares;                    // of every parameter of the model
  std::uint64_t counted_step = 0;                 // the step after the one `counted` is of
  std::uint64_t counted = 0;
};

/// Where the arena's blocks of one layer lie.
struct stage_layer {
  layer_model model;
  layer_profile profile;
  float* state = nullptr;
  std::byte* packed = nullptr;
  std::vector<float*> slices;  // of each own slice
};

class stage_executor final : public executor {
public:
  static result<std::unique_ptr<stage_executor>> built(const specification& spec, const plan& what,
                                                       peer_id self,
                                                       const executor_options& options);

  outcome run(std::uint32_t lane, const task& what) override;
  std::span<const std::byte> hold(const tensor_ref& ref) override { return rooms_->hold(ref); }
  void release(const tensor_ref& ref) override { rooms_->release(ref); }
  std::span<std::byte> room(const tensor_ref& ref) override { return rooms_->room(ref); }
  void arrived(const tensor_ref& ref) override { rooms_->arrived(ref); }

  /// Returns the bytes that were reserved; all of them are used.
  [[nodiscard]] bytes memory() const noexcept { return arena_.taken(); }

private:
  friend class stage_builder;
  stage_executor() = default;

  void forward(stage_lane& lane, std::uint32_t number, const task& t, outcome& o);
  void backward(stage_lane& lane, std::uint32_t number, const task& t);
  void fold(const task& t);
  void measure(const task& t, outcome& o);
  void apply(stage_lane& lane, const task& t, outcome& o);

  void read_samples(const micro_slot& slot) const;
  void read_targets(stage_lane& lane, micro_slot& slot) const;
  [[nodiscard]] double loss_scale(stage_lane& lane, std::uint64_t step) const;
  [[nodiscard]] std::uint64_t sample_of(std::uint64_t step, std::uint64_t position) const;
  layer_pass pass_of(const stage_lane& lane, std::size_t i, micro_slot& slot) const;
  float* slice_buffer(std::size_t i, std::uint32_t micro_batch) const;
  [[nodiscard]] bool is_finite(std::size_t i, const micro_slot& slot) const;
  [[nodiscard]] bool has_first() const noexcept { return stage_.layer_first == 0; }
  [[nodiscard]] bool has_last() const noexcept {
    return stage_.layer_first + stage_.layer_count == layer_total_;
  }

  specification spec_;
  stage stage_;  // of the plan, its own copy
  member self_;
  std::uint32_t layer_total_ = 0;
  std::int64_t sample_count_ = 0;  // elements of one sample
  std::int64_t target_count_ = 0;
  sabotage wrong_ = sabotage::none;
  std::shared_ptr<const dataset> data_;
  arena arena_;
  std::vector<std::unique_ptr<stage_layer>> layers_;
  std::vector<stage_lane> lanes_;
  slot_layout slot_;
  std::vector<std::uint32_t>
      slice_next_;  // for each own slice: the micro-batch to go backward next
  std::vector<std::uint32_t> slice_sizes_;
  std::unique_ptr<stage_rooms> rooms_;
};

}  // namespace perigee::kernels
