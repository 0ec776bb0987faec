// op: one operator built for fixed shapes. Everything is checked when it is built; running never
// fails.
//
// Legend  B batch, T tokens, C channels in, N channels out, H height, W width (of the input),
//         V vocabulary, D head width. Token matrices are row-major [rows, C]. Images lie in memory
//         as [B, H, W, C] whatever their name order. Parameters have PyTorch's shapes and order
//         (linear [N, C], convolution [N, C/groups, KH, KW]), row-major f32.
// Guarantees  the bits of every output are a function of the inputs' bits and the shapes alone: one
//             thread, no measurement, no cache of results, no dependence on what ran before.
// Threads     an op belongs to one lane. Its calls never overlap.
#pragma once

#include "proto/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace perigee::kernels {

/// The pointers of one call. Each span has one entry for each input, parameter, … in the operator's
/// documented order.
struct op_call {
  std::span<const void* const> in;  // f32, or i32 for token ids and targets
  std::span<float* const> out;  // overwritten by forward; read by backward where `needs` says so
  std::span<const float* const> param;
  const std::byte* packed = nullptr;  // what `pack` made of the parameters, `packed_bytes` long
  std::span<std::byte* const> saved;  // written by forward, read by backward; `saved_bytes` each
  std::span<const float* const> dout;
  std::span<float* const> din;     // overwritten; nullptr = not wanted
  std::span<float* const> dparam;  // accumulated: dparam <- dparam + this call's part
  std::byte* scratch = nullptr;    // `scratch_bytes`, 64-byte aligned; means nothing between calls
  float* statistics = nullptr;     // batch norm: [2, C] mean and unbiased variance, overwritten
  const float* running = nullptr;  // batch norm, evaluation: [2, C] running mean and variance
  std::uint64_t seed = 0;          // dropout: the job's
  std::uint64_t step = 0;          // dropout
  std::uint32_t micro_batch = 0;   // dropout
  double loss_scale = 1;           // losses: of the gradient; 1 / counted targets of a mini-batch
  double* loss = nullptr;          // losses: sum over the counted targets, overwritten
};

/// What a built operator asks for. Sizes in bytes unless they say count.
struct op_needs {
  std::vector<std::size_t> out_count;    // f32 values of each output
  std::vector<std::size_t> param_count;  // f32 values of each parameter
  std::vector<std::size_t> saved_bytes;
  std::size_t scratch_bytes = 0;        // the largest of all three passes and `pack`
  std::size_t packed_bytes = 0;         // 0 = nothing to pack
  std::vector<bool> backward_reads_in;  // for each input
  bool backward_reads_out = false;
  bool in_place = false;             // out[0] may be in[0], and din[0] may be dout[0]
  std::size_t statistics_count = 0;  // f32 values; 0 = none
  std::uint64_t forward_work = 0;    // floating-point operations
  std::uint64_t backward_work = 0;
};

class op {
public:
  virtual ~op() = default;
  [[nodiscard]] virtual const op_needs& needs() const noexcept = 0;
  virtual void forward(const op_call& c) = 0;
  virtual void backward_inputs(const op_call& c) = 0;
  virtual void backward_weights(const op_call& c) { (void)c; }
  /// Writes the parameters in the layout the kernels like; once a step, shared by all lanes.
  virtual void pack(std::span<const float* const> param, std::byte* packed, std::byte* scratch) {
    (void)param, (void)packed, (void)scratch;
  }
};

using op_ptr = std::unique_ptr<op>;

}  // namespace perigee::kernels
