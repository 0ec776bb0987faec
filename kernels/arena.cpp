#include "kernels/arena.hpp"

#include "proto/base/check.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace perigee::kernels {

result<arena> arena::reserved(bytes size) {
  arena a;
  a.size_ = size.count;
  if (size.count == 0) return a;
  void* block =
      mmap(nullptr, size.count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED)
    return error{errc::exhausted, "reserve " + text(size) + " of memory: " + std::strerror(errno)};
  a.block_ = block;
  madvise(block, size.count, MADV_HUGEPAGE);  // a wish: without it everything works, slower
  constexpr std::size_t page = 4096;
  for (std::size_t at = 0; at < size.count; at += page)
    static_cast<volatile unsigned char*>(block)[at] = 0;
  return a;
}

arena::arena(arena&& other) noexcept { *this = std::move(other); }

arena& arena::operator=(arena&& other) noexcept {
  std::swap(block_, other.block_);
  std::swap(size_, other.size_);
  std::swap(taken_, other.taken_);
  return *this;
}

arena::~arena() {
  if (block_ != nullptr) munmap(block_, size_);
}

std::byte* arena::take(std::size_t size) {
  const std::size_t rounded = (size + 63) / 64 * 64;
  CHECK(taken_ + rounded <= size_);
  std::byte* at = static_cast<std::byte*>(block_) + taken_;
  taken_ += rounded;
  return at;
}

float* arena::take_floats(std::size_t count) {
  return reinterpret_cast<float*>(take(count * sizeof(float)));
}

}  // namespace perigee::kernels
