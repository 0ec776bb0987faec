// executor: what computes one peer's part of a job and holds its tensors. Real kernels are one
// implementation (kernels/stage.hpp), the simulator's value hashes another (net/sim), and the same
// machines drive both.
//
// Threads  `run` may be called from several threads at once, one for each lane. The others may be
//          called from any thread at any time; they lock.
#pragma once

#include "proto/base/result.hpp"
#include "proto/task.hpp"
#include "proto/tensor.hpp"

#include <cstddef>
#include <memory>
#include <span>

namespace perigee {

class executor {
public:
  virtual ~executor() = default;

  /// Runs one task on a lane. Everything the task needs is here (the pipeline machine saw to it).
  virtual outcome run(std::uint32_t lane, const task& what) = 0;

  /// Returns the bytes of a tensor that a task made (an outgoing boundary, a fold, a state). They
  /// stay valid and unchanged until `release`; each `hold` needs one `release`. Empty if there is
  /// no such tensor.
  virtual std::span<const std::byte> hold(const tensor_ref& ref) = 0;
  virtual void release(const tensor_ref& ref) = 0;

  /// Returns room for a tensor that is about to arrive; empty if it is not one that this plan
  /// expects, is here already or has been. Asking twice before `arrived` returns the same room: a
  /// transfer may start again.
  virtual std::span<std::byte> room(const tensor_ref& ref) = 0;
  /// All bytes of a tensor that had room are in it; nobody writes there any more.
  virtual void arrived(const tensor_ref& ref) = 0;
};

}  // namespace perigee
