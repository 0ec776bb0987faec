// Who has which buffer of a stage: micro-batches' slots, arriving boundaries, totals on their way.
//
//   slot    empty --begin_forward--> forward --end_forward--> waiting --begin_backward--> backward
//           --end_backward--> leaving --last release--> empty
//   input   empty --room--> promised --arrived--> here --begin_forward--> used --end_backward-->
//           empty
//   total   empty --room--> promised --arrived--> here --fold, measure--> ready --last use and
//           release--> empty
//
// Guarantees  nothing is allocated after construction; a tensor that the plan does not expect
//             (wrong layer, micro-batch, step or range, or one that has been) gets no room.
// Threads     every function locks; a slot's buffers belong to its lane between begin and end.
#pragma once

#include "proto/task.hpp"
#include "proto/tensor.hpp"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

namespace perigee::kernels {

/// Room for one boundary that comes from the stage before.
struct input_slot {
  enum class phase : std::uint8_t { empty, promised, here, used };
  std::byte* data = nullptr;
  phase now = phase::empty;
  std::uint64_t step = 0;
  std::uint32_t micro_batch = 0;
};

/// Room for all that a lane keeps of one micro-batch.
struct micro_slot {
  enum class phase : std::uint8_t { empty, forward, waiting, backward, leaving };
  std::byte* data = nullptr;
  phase now = phase::empty;
  std::uint64_t step = 0;
  std::uint32_t micro_batch = 0;
  input_slot* input = nullptr;
  std::uint32_t output_holds = 0;
  std::uint32_t gradient_holds = 0;
  bool gradient_left = false;
  bool gradient_here = false;  // of the output
  double loss = 0;             // last stage
  std::uint64_t counted = 0;
};

/// Room for a layer's fold over the slices [0, index).
struct total_slot {
  enum class phase : std::uint8_t { empty, promised, here, ready };
  std::byte* data = nullptr;
  phase now = phase::empty;
  std::uint64_t step = 0;
  std::uint32_t index = 0;
  std::uint32_t holds = 0;
  bool spent = false;  // nobody here needs it any more
};

/// A part of a slot that travels.
struct slot_part {
  std::size_t offset = 0;
  std::size_t size = 0;
};

/// What of the plan this peer's rooms follow from.
struct rooms_shape {
  std::uint32_t layer_first = 0;
  std::uint32_t layer_count = 0;
  bool first_stage = false;
  bool last_stage = false;
  std::uint32_t slice_first = 0;
  std::uint32_t slice_end = 0;
  std::uint32_t slice_count = 0;  // of the mini-batch
  std::uint32_t micro_first = 0;
  std::uint32_t micro_end = 0;
  std::size_t input_size = 0;
  slot_part output;           // the boundary that leaves
  slot_part output_gradient;  // its gradient, which comes
  slot_part input_gradient;   // the gradient that leaves
};

/// The buffers of one layer.
struct layer_rooms {
  std::span<const std::byte> state;
  std::size_t gradient_size = 0;
  std::vector<total_slot> totals;
  std::uint64_t folds = 0;    // steps folded here
  std::uint64_t applied = 0;  // steps applied
};

class stage_rooms {
public:
  stage_rooms(rooms_shape shape, std::vector<layer_rooms> layers,
              std::vector<std::vector<micro_slot>> lanes, std::vector<input_slot> inputs);

  // --- the executor's face (proto/executor.hpp) -------------------------------------------------
  std::span<const std::byte> hold(const tensor_ref& ref);
  void release(const tensor_ref& ref);
  std::span<std::byte> room(const tensor_ref& ref);
  void arrived(const tensor_ref& ref);

  // --- tasks: each requires that the pipeline machine kept its order ----------------------------
  micro_slot& begin_forward(std::uint32_t lane, const task& t);
  void end_forward(micro_slot& slot);
  micro_slot& begin_backward(std::uint32_t lane, const task& t);
  void end_backward(micro_slot& slot);
  /// Returns where the fold of a layer goes; holds what came from the left if anything did.
  std::byte* begin_fold(const task& t);
  void end_fold(const task& t);
  /// Returns the total over all slices.
  const std::byte* total_of(const task& t);
  void end_apply(const task& t);

private:
  layer_rooms* layer_of(std::uint32_t layer) noexcept;
  micro_slot* slot_of(const tensor_ref& ref) noexcept;
  total_slot* total_at(layer_rooms& l, std::uint64_t step, std::uint32_t index) noexcept;
  total_slot* empty_total(layer_rooms& l) noexcept;
  void settle(micro_slot& slot) const noexcept;
  static void settle(total_slot& total) noexcept;
  input_slot* input_of(const tensor_ref& ref) noexcept;
  std::span<std::byte> room_for_input(const tensor_ref& ref);
  std::span<std::byte> room_for_output_gradient(const tensor_ref& ref);
  std::span<std::byte> room_for_total(const tensor_ref& ref);
  std::span<const std::byte> hold_total(const tensor_ref& ref);
  [[nodiscard]] std::uint32_t layer_end() const noexcept;

  std::mutex lock_;
  rooms_shape shape_;
  std::vector<layer_rooms> layers_;
  std::vector<std::vector<micro_slot>> lanes_;
  std::vector<input_slot> inputs_;
  std::vector<std::uint64_t> forwards_;  // for each own micro-batch: steps whose forward began
};

}  // namespace perigee::kernels
