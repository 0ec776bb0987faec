// Virtual time: what is to happen, in order of time and, at one time, in the order it was said.
//
// Threads  none; one owner.
#pragma once

#include "proto/base/instant.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace perigee::net {

/// Something that happens to somebody; `kind` and `what` are the businesses' own (see sim_network
/// and world).
struct timed {
  instant at{};
  std::uint64_t sequence = 0;
  std::uint32_t kind = 0;
  std::uint32_t who = 0;
  std::uint64_t what = 0;
};

class event_queue {
public:
  void push(instant at, std::uint32_t kind, std::uint32_t who, std::uint64_t what) {
    heap_.push_back({std::max(at, now_), sequence_++, kind, who, what});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  /// Returns the next event; its time is now. Requires !empty().
  timed pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const timed next = heap_.back();
    heap_.pop_back();
    now_ = next.at;
    ++popped_;
    return next;
  }
  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  [[nodiscard]] instant now() const noexcept { return now_; }
  [[nodiscard]] instant next() const noexcept { return heap_.empty() ? never : heap_.front().at; }
  [[nodiscard]] std::uint64_t popped() const noexcept { return popped_; }

private:
  static bool later(const timed& a, const timed& b) noexcept {
    return a.at != b.at ? a.at > b.at : a.sequence > b.sequence;
  }
  std::vector<timed> heap_;
  std::uint64_t sequence_ = 0;
  std::uint64_t popped_ = 0;
  instant now_{};
};

}  // namespace perigee::net
