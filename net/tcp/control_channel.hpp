// The sending side of a CONTROL connection: small frames, in order, as soon as possible.
//
// A frame is written by whoever sends it, if nothing waits and the kernel takes it at once: that
// spares the change of threads that would double a round trip. Else it waits for the writer loop.
//
// Guarantees  `put` never blocks; what waits is bounded.
// Threads     any; `write_loop` in one thread.
#pragma once

#include "net/tcp/frame.hpp"
#include "proto/base/result.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

namespace perigee::net {

class control_channel {
public:
  /// `fd` stays the caller's.
  explicit control_channel(int fd) noexcept : fd_(fd) {}

  /// Fails with `exhausted` if too much waits (never for a credit: those are few by nature), with
  /// `unknown_peer` once closed, with `io` or `unavailable` if the connection broke.
  result<void> put(frame_kind kind, std::span<const std::byte> payload);

  /// Returns why it cannot go on.
  error write_loop();
  void close();

private:
  struct waiting {
    std::vector<std::byte> data;
    std::size_t done = 0;
  };

  const int fd_;
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<waiting> queue_;
  std::size_t queued_bytes_ = 0;
  bool writing_ = false;
  bool closed_ = false;
};

}  // namespace perigee::net
