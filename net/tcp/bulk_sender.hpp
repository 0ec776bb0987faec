// The sending side of a BULK connection: tensors, cut into chunks, under the receiver's credit.
//
// What trains (activations and gradients) goes before states; within a class the order of `put` is
// kept. A large state is overtaken between two chunks.
//
// Guarantees  bytes are written from where they lie, no copy is kept; never more bytes are under
//             way than the receiver granted.
// Threads     any; `write_loop` in one thread, `leftovers` when it has returned.
#pragma once

#include "net/tcp/rate_meter.hpp"
#include "net/transport.hpp"

#include <array>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

namespace perigee::net {

/// Classes of tensors that may be under way at the same time, the urgent first.
inline constexpr std::size_t tensor_class_count = 2;
[[nodiscard]] constexpr std::size_t class_of(const tensor_ref& what) noexcept {
  return what.kind == tensor_kind::state ? 1 : 0;
}

class bulk_sender {
public:
  /// `fd` stays the caller's.
  explicit bulk_sender(int fd) noexcept : fd_(fd) {}

  result<void> put(const tensor_label& label, std::span<const std::byte> data);
  /// The receiver allows `more` bytes. Fails with `malformed` if no honest receiver grants so much.
  result<void> grant(bytes more);

  /// Calls `sent` after each tensor's last byte. Returns why it cannot go on.
  error write_loop(const std::function<void(const tensor_label&)>& sent);
  void close();
  /// Returns, once, what was not wholly sent, in the order in which it would have been.
  std::vector<tensor_label> leftovers();

  [[nodiscard]] bytes queued() const;
  [[nodiscard]] bytes sent() const;

private:
  struct item {
    tensor_label label;
    std::span<const std::byte> data;
    std::uint64_t done = 0;
  };

  /// Returns the class to go on with and how many bytes; 0 bytes: nothing can be sent now.
  [[nodiscard]] std::pair<std::size_t, std::uint64_t> choice() const;
  result<void> write_chunk(const item& from, std::uint64_t size);

  const int fd_;
  mutable std::mutex lock_;
  std::condition_variable changed_;
  std::array<std::deque<item>, tensor_class_count> lines_;
  std::uint64_t credit_ = 0;
  std::uint64_t window_ = 0;  // the first grant: the most that can ever be under way
  std::uint64_t queued_ = 0;
  std::uint64_t sent_ = 0;
  rate_meter rate_;
  bool closed_ = false;
};

}  // namespace perigee::net
