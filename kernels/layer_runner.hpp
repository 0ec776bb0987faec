// A layer with its operators built: runs forward and backward in buffers that the caller names.
//
// Guarantees  no pass allocates; the bits are a function of the buffers' contents alone.
// Threads     a runner belongs to one lane. Layer, layout and program are shared and only read.
#pragma once

#include "kernels/model/graph.hpp"
#include "kernels/model/layout.hpp"
#include "kernels/model/program.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace perigee::kernels {

/// What all lanes share of a layer.
struct layer_model {
  layer_graph graph;
  layer_layout layout;
  layer_program program;
};

/// Where the regions of a pass lie; indexed by `region`.
using region_bases = std::array<std::byte*, region_count>;

/// What a pass reads and writes beside its regions.
struct layer_pass {
  region_bases bases{};
  const float* state = nullptr;       // parameters at their offsets
  const float* running = nullptr;     // evaluation: running statistics
  const std::byte* packed = nullptr;  // of the layer
  float* statistics = nullptr;        // forward: batch statistics of this micro-batch
  float* gradients = nullptr;         // backward: accumulated, parameters at their offsets
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint32_t micro_batch = 0;
  double loss_scale = 1;
  double* loss = nullptr;
};

class layer_runner {
public:
  /// `model` must outlive the runner; `operators` are those of its graph, in order.
  layer_runner(const layer_model& model, std::vector<op_ptr> operators);

  void forward(const layer_pass& pass);
  void backward(const layer_pass& pass);
  /// Makes the packed copies of all weights.
  void pack(const float* state, std::byte* packed, std::byte* scratch);

  [[nodiscard]] const layer_model& model() const noexcept { return *model_; }

private:
  /// The pointers of one operator's call, with room for all of them.
  struct call_room {
    std::vector<const void*> in;
    std::vector<float*> out;
    std::vector<const float*> param;
    std::vector<std::byte*> saved;
    std::vector<const float*> dout;
    std::vector<float*> din;
    std::vector<float*> dparam;
  };

  op_call filled(std::size_t i, const layer_pass& pass);
  void add_parts(std::size_t i, const layer_pass& pass);

  const layer_model* model_;
  std::vector<op_ptr> operators_;
  std::vector<call_room> rooms_;
};

/// to[i] += from[i]
void add(std::span<float> to, const float* from) noexcept;

/// Returns whether no value is an infinity or not a number.
[[nodiscard]] bool all_finite(std::span<const float> values) noexcept;

}  // namespace perigee::kernels
