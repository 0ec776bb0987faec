// What a test bed tells at the end: losses, a sample, what each peer did, and whether the digests
// agree.
#pragma once

#include "actors/cli/signals.hpp"
#include "actors/cli/view.hpp"
#include "kernels/evaluate.hpp"
#include "kernels/format/safetensors.hpp"

#include <optional>

namespace perigee::actors {

struct testbed_report {
  progress last;
  duration step{};
  double training_loss = 0;
  std::optional<kernels::evaluation> validation;  // none without a validation split
  std::string sample;                             // generated text; empty for models that make none
  std::optional<digest128> verified;              // of the same job in one process

  /// Returns whether all that was asked held: every peer worked, and the digests are equal.
  [[nodiscard]] bool holds(bool with_verification) const;
};

/// Evaluates the weights on training and validation samples, and lets a gpt write. Ends early if a
/// signal comes.
result<void> judge(const specification& spec, const kernels::tensor_file& weights,
                   const signals& stop, testbed_report& report);

struct verification {
  std::string job_file;
  std::string folder;  // for the log
  std::uint32_t workers = 1;
};

/// Trains the job in a fresh process of one peer and takes its digest. Ends early if a signal
/// comes.
result<void> verify(const verification& asked, const signals& stop, testbed_report& report);

void print(const testbed_report& report, output how);

}  // namespace perigee::actors
