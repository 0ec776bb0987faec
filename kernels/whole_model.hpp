// A whole model for evaluation: forward only, running statistics, no dropout.
//
// Threads  one owner calls it.
#pragma once

#include "kernels/arena.hpp"
#include "kernels/data/dataset.hpp"
#include "kernels/format/safetensors.hpp"
#include "kernels/layer_runner.hpp"
#include "proto/job.hpp"

#include <memory>
#include <span>
#include <vector>

namespace perigee::kernels {

class whole_model {
public:
  /// Builds the model for `samples` at a time and reads its weights.
  static result<std::unique_ptr<whole_model>> built(const specification& spec,
                                                    const dataset_info& data,
                                                    const tensor_file& weights,
                                                    std::int64_t samples);

  /// Where the caller puts the samples, one after the other, and their targets.
  [[nodiscard]] std::byte* input() noexcept { return input_; }
  [[nodiscard]] std::span<std::int32_t> targets() noexcept { return targets_; }
  [[nodiscard]] std::size_t sample_bytes() const noexcept { return sample_bytes_; }

  /// Returns the sum of the losses of the counted targets.
  double run();

  /// Of the last run: one row of `classes` for each target.
  [[nodiscard]] std::span<const float> logits() const noexcept { return logits_; }

private:
  whole_model() = default;
  result<void> reserve();
  result<void> read(const tensor_file& weights);

  struct place {
    float* state = nullptr;
    std::byte* packed = nullptr;
  };
  arena memory_;
  std::vector<std::unique_ptr<layer_model>> models_;
  std::vector<layer_runner> layers_;
  std::vector<place> places_;
  std::byte* input_ = nullptr;
  std::byte* boundaries_[2] = {nullptr, nullptr};
  std::byte* kept_ = nullptr;
  std::byte* transient_ = nullptr;
  std::span<std::int32_t> targets_;
  std::span<const float> logits_;
  std::size_t sample_bytes_ = 0;
};

}  // namespace perigee::kernels
