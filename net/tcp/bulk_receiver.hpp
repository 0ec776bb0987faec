// The receiving side of a BULK connection: chunks go straight into the room their owner named.
//
// Guarantees  every length is checked before a byte is allocated or read for it; a tensor is
//             reported only when all its bytes are there and every checksum held; unwanted bytes
//             cost no memory.
// Threads     `read_loop` in one thread; `received` and `announce_window` any.
#pragma once

#include "net/tcp/bulk_sender.hpp"
#include "net/tcp/frame.hpp"
#include "net/transport.hpp"
#include "proto/codec.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace perigee::net {

class bulk_receiver {
public:
  struct hooks {
    byte_source read;
    std::function<std::span<std::byte>(const tensor_label&)> room_for;  // empty: not wanted
    std::function<void(const tensor_label&)> arrived;
    std::function<void()> dropped;     // a tensor that is not wanted
    std::function<void(bytes)> grant;  // tell the sender
  };

  /// `window` is what the other end may have under way.
  bulk_receiver(bytes window, hooks to);

  /// Returns why it cannot go on.
  error read_loop();
  /// Reads one chunk. A chunk that breaks the rules is `malformed`.
  result<void> read_chunk();

  [[nodiscard]] bytes window() const noexcept { return window_; }
  [[nodiscard]] bytes received() const noexcept { return {received_.load()}; }

private:
  struct incoming {
    tensor_label label;
    std::span<std::byte> room;  // empty: drop
    std::uint64_t done = 0;
    bool active = false;
  };

  result<chunk_header> read_header();
  result<void> begin(incoming& line, const chunk_header& next);
  result<void> take(incoming& line, const chunk_header& next);
  result<void> drain(std::uint64_t size);
  void consumed(std::uint64_t size);

  const bytes window_;
  const hooks to_;
  std::array<incoming, tensor_class_count> lines_;
  std::vector<std::byte> scratch_;
  std::uint64_t credit_;    // what the sender may still send
  std::uint64_t owed_ = 0;  // read, but not yet granted again
  std::atomic<std::uint64_t> received_{0};
};

}  // namespace perigee::net
