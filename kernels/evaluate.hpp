// What a trained model is worth: its mean loss and accuracy on a split, and text of its own.
//
// Guarantees  each sample counts once; the same weights, data and batch size give the same bits.
// Threads     any; a call holds its own memory.
#pragma once

#include "kernels/data/dataset.hpp"
#include "kernels/format/safetensors.hpp"
#include "proto/job.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

namespace perigee::kernels {

struct evaluation {
  double loss = 0;            // mean over the counted targets
  std::uint64_t counted = 0;  // targets
  std::uint64_t correct = 0;  // targets whose class has the greatest logit, the first of equals
  std::uint64_t samples = 0;
  [[nodiscard]] double accuracy() const noexcept {
    return counted == 0 ? 0.0 : static_cast<double>(correct) / static_cast<double>(counted);
  }
};

/// Asked now and then; true ends a long call with `unavailable`. Empty = never.
using stop_test = std::function<bool()>;

/// Which samples count: the first of a split.
struct judged_part {
  split part = split::validation;
  std::uint64_t samples_max = std::numeric_limits<std::uint64_t>::max();
  stop_test stopped{};
};

/// Fails as the builders do, with `malformed` if a weight is missing or of another shape, or with
/// `unavailable` when stopped.
result<evaluation> evaluate(const specification& spec, const dataset& data,
                            const tensor_file& weights, const judged_part& of);

struct generation {
  std::string_view prompt{};  // empty = a line begins
  std::uint32_t count = 0;    // tokens to add
  std::uint64_t seed = 0;
  std::uint32_t temperature_permille = 1000;  // 0 = always the likeliest
  stop_test stopped{};
};

/// Returns what a gpt writes after the prompt. Fails with `unsupported` for other models, with
/// `malformed` if the prompt has a symbol that the vocabulary lacks, or with `unavailable` when
/// stopped.
result<std::string> generate(const specification& spec, const dataset& data,
                             const tensor_file& weights, const generation& how);

}  // namespace perigee::kernels
