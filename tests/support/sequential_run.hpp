// A plan run by one thread, task by task: what the pipeline machine and the transport do together,
// in the simplest order that is allowed.
#pragma once

#include "kernels/stage.hpp"
#include "proto/executor.hpp"
#include "proto/job.hpp"
#include "proto/plan.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace perigee::test {

/// What a step leaves.
struct step_record {
  bool finite = true;
  non_finite where{};
  double loss = 0;
  std::uint64_t counted = 0;
  double norm = 0;
  std::vector<digest128> layers;  // of each layer's new state
};

class sequential_run {
public:
  using maker = std::function<std::unique_ptr<executor>(peer_id)>;

  /// `make` builds the executor of each peer of the plan.
  sequential_run(const specification& spec, plan what, const maker& make);

  /// Runs one step. Up to `depth` micro-batches go forward before the first goes backward; not
  /// more than the stages' in_flight_max.
  step_record step(std::uint64_t number, std::uint32_t depth = 1);

  /// Returns the bytes of a layer's state, from the first member that has it.
  [[nodiscard]] std::vector<std::byte> state(std::uint32_t layer, std::uint64_t step);

  [[nodiscard]] executor& at(std::uint32_t stage, std::uint32_t index) {
    return *executors_[stage][index];
  }

private:
  struct worker {
    executor* who;
    std::uint32_t lane;
  };
  worker worker_of(std::uint32_t stage, std::uint32_t micro_batch);
  outcome forward(std::uint64_t step, std::uint32_t micro_batch);
  void backward(std::uint64_t step, std::uint32_t micro_batch);
  void reduce(std::uint32_t stage, std::uint32_t layer, std::uint64_t step);
  static void carry(executor& from, executor& to, const tensor_ref& what);
  void update(std::uint64_t step, step_record& record);

  specification spec_;
  plan plan_;
  std::vector<std::vector<std::unique_ptr<executor>>> executors_;
};

/// Returns a plan of stages over consecutive layers; peers are numbered from 1.
struct stage_wish {
  std::uint32_t layers = 1;
  std::vector<std::uint32_t> slices;  // of each member
  std::uint32_t workers = 1;
  std::uint32_t in_flight_max = 1;
};
[[nodiscard]] plan plan_of(const std::vector<stage_wish>& stages);

/// Returns the plan of one peer that does everything.
[[nodiscard]] plan plan_of_one(const specification& spec, std::uint32_t layers,
                               std::uint32_t workers = 1);

}  // namespace perigee::test
