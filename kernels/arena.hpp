// An arena: one block of memory, reserved and touched once, handed out front to back.
//
// Fresh pages cost more than any kernel (a fault is some ten microseconds in a virtual machine), so
// everything a stage needs is taken here when it is built, in huge pages where the system has them.
//
// Guarantees  blocks are 64-byte aligned and zero; they live as long as the arena.
// Threads     `take` belongs to whoever builds; the blocks to their users.
#pragma once

#include "proto/base/result.hpp"
#include "proto/base/units.hpp"

#include <cstddef>

namespace perigee::kernels {

class arena {
public:
  arena() = default;
  /// Fails with `exhausted` if the system refuses.
  static result<arena> reserved(bytes size);
  arena(arena&& other) noexcept;
  arena& operator=(arena&& other) noexcept;
  ~arena();

  /// Returns a block; requires that all taken so far fits what was reserved.
  std::byte* take(std::size_t size);
  float* take_floats(std::size_t count);

  [[nodiscard]] bytes taken() const noexcept { return {taken_}; }
  [[nodiscard]] bytes size() const noexcept { return {size_}; }

private:
  void* block_ = nullptr;
  std::size_t size_ = 0;  // as reserved
  std::size_t taken_ = 0;
};

}  // namespace perigee::kernels
