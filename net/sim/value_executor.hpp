// An executor (proto/executor.hpp) whose tensors are 64-bit values: eight bytes each, the hash of
// their name and inputs (values.hpp). It holds and gives room by the same rules as the real one.
//
// Guarantees  a task that runs before its inputs are here, a tensor that is overwritten while it is
//             held, or a slot too many is a bug of the machines and fails a CHECK.
// Threads     one, unlike the real one.
#pragma once

#include "proto/executor.hpp"
#include "proto/job.hpp"
#include "proto/model_profile.hpp"
#include "proto/plan.hpp"

#include <array>
#include <optional>
#include <vector>

namespace perigee::net {

/// A bug on purpose, to see that the digests notice.
enum class sabotage : std::uint8_t {
  none,
  reversed_fold,    // the last slice and the total before it change places
  statistic_twice,  // the first micro-batch's statistic counts twice
  dropped_slice,    // the last slice is not added
};

/// A micro-batch whose forward pass in a layer is not finite at a step.
struct value_fault {
  std::uint64_t step = 0;
  non_finite where;
};

struct value_options {
  sabotage bug = sabotage::none;
  std::optional<value_fault> fault;
};

class value_executor final : public executor {
public:
  /// `model` outlives this; `self` has a place in `p`.
  value_executor(const specification& spec, const model_profile& model, const plan& p, peer_id self,
                 value_options options = {});

  outcome run(std::uint32_t lane, const task& what) override;
  std::span<const std::byte> hold(const tensor_ref& ref) override;
  void release(const tensor_ref& ref) override;
  std::span<std::byte> room(const tensor_ref& ref) override;
  void arrived(const tensor_ref& ref) override;

private:
  /// A tensor's place: which step's it is, and who looks at it.
  struct cell {
    std::uint64_t value = 0;
    std::uint64_t step_next = 0;  // the first step it may hold next
    std::uint32_t holds = 0;
    bool made = false;
    bool complete = false;  // what came; until it is taken
  };
  /// Both of a micro-batch's inputs may come while the step before is still being applied.
  using inbox = std::array<cell, 2>;
  struct micro_batch_cells {
    inbox activation_in;
    inbox gradient_in;
    cell activation_out;
    cell gradient_out;
    std::vector<std::uint64_t> kept;  // each layer's input, and the last one's output
    bool between = false;             // forward is done and backward is not
  };
  struct layer_cells {
    std::vector<std::uint64_t> sums;  // of each own slice
    inbox before;                     // the total over the slices before the own ones
    inbox total_in;
    cell total_out;  // over the slices up to the own ones
    std::uint64_t total = 0;
    std::uint64_t state = 0;
    cell state_out;
  };

  outcome forward(const task& what);
  outcome backward(const task& what);
  outcome fold(const task& what);
  outcome measure(const task& what);
  outcome apply(const task& what);
  [[nodiscard]] std::uint64_t total_of(std::uint64_t step, std::uint32_t layer);
  [[nodiscard]] cell* made_cell(const tensor_ref& ref);
  [[nodiscard]] cell* room_cell(const tensor_ref& ref);
  [[nodiscard]] cell* layer_room(const tensor_ref& ref);
  static void put(cell& into, std::uint64_t step, std::uint64_t value);
  [[nodiscard]] static std::uint64_t taken(inbox& from, std::uint64_t step);

  specification spec_;
  const model_profile& model_;
  value_options options_;
  std::uint32_t layer_first_ = 0;
  std::uint32_t layer_end_ = 0;
  std::uint32_t slice_first_ = 0;
  std::uint32_t slice_end_ = 0;
  std::uint32_t micro_first_ = 0;
  bool last_stage_ = false;
  bool last_member_ = false;
  std::uint64_t step_ = 0;  // in work
  std::vector<micro_batch_cells> micro_batches_;
  std::vector<layer_cells> layers_;
};

}  // namespace perigee::net
