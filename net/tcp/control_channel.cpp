#include "net/tcp/control_channel.hpp"

#include "net/limits.hpp"
#include "net/tcp/socket.hpp"

#include <utility>

namespace perigee::net {

result<void> control_channel::put(frame_kind kind, std::span<const std::byte> payload) {
  auto data = framed(kind, payload);
  const std::lock_guard guard(lock_);
  if (closed_) return error{errc::unknown_peer, "the link is closed"};
  const bool full = queue_.size() >= limits::control_queue_max ||
                    queued_bytes_ + data.size() > limits::control_queue_bytes_max;
  if (full && kind != frame_kind::credit) {
    return error{errc::exhausted, "too many frames wait on the link"};
  }
  std::size_t done = 0;
  if (queue_.empty() && !writing_) {
    const auto written = write_some(fd_, data);
    if (!written) return written.why();
    done = *written;
    if (done == data.size()) return {};
  }
  queued_bytes_ += data.size();
  queue_.push_back({std::move(data), done});
  changed_.notify_one();
  return {};
}

error control_channel::write_loop() {
  std::unique_lock guard(lock_);
  while (true) {
    changed_.wait(guard, [this] { return closed_ || !queue_.empty(); });
    if (closed_) return {errc::unavailable, "closed"};
    const waiting next = std::move(queue_.front());
    queue_.pop_front();
    queued_bytes_ -= next.data.size();
    writing_ = true;
    guard.unlock();
    auto written = write_all(fd_, std::span(next.data).subspan(next.done));
    guard.lock();
    writing_ = false;
    if (!written) return written.why();
  }
}

void control_channel::close() {
  const std::lock_guard guard(lock_);
  closed_ = true;
  queue_.clear();
  queued_bytes_ = 0;
  changed_.notify_all();
}

}  // namespace perigee::net
