#include "net/tcp/bulk_sender.hpp"

#include "net/tcp/frame.hpp"
#include "net/tcp/socket.hpp"
#include "proto/codec.hpp"
#include "proto/digest.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace perigee::net {

namespace {

/// A receiver never grants beyond its window; this is far above any.
constexpr std::uint64_t credit_max = std::uint64_t{1} << 40U;

chunk_header header_of(const tensor_label& label, std::uint64_t offset,
                       std::span<const std::byte> part) {
  return {.job = label.job,
          .plan_digest = label.plan_digest,
          .what = label.what,
          .size = label.size,
          .offset = offset,
          .length = static_cast<std::uint32_t>(part.size()),
          .checksum = checksum_of(part)};
}

}  // namespace

result<void> bulk_sender::put(const tensor_label& label, std::span<const std::byte> data) {
  CHECK(label.size.count == data.size());
  const auto refused = [&](errc code, const std::string& why) {
    return error{code, "transmit " + text(label.what) + ": " + why};
  };
  if (data.empty()) return refused(errc::malformed, "it has no bytes");
  if (data.size() > limits::tensor_max) return refused(errc::exhausted, "it is too large");
  const std::lock_guard guard(lock_);
  if (closed_) return refused(errc::unknown_peer, "the link is closed");
  auto& line = lines_[class_of(label.what)];
  if (line.size() >= limits::transmit_queue_max) {
    return refused(errc::exhausted, "too many tensors wait on the link");
  }
  line.push_back({label, data});
  queued_ += data.size();
  changed_.notify_one();
  return {};
}

result<void> bulk_sender::grant(bytes more) {
  const std::lock_guard guard(lock_);
  if (more.count > credit_max || credit_ + more.count > credit_max) {
    return error{errc::malformed, "malformed frame: a credit of " + text(more)};
  }
  if (window_ == 0) window_ = more.count;
  credit_ += more.count;
  changed_.notify_one();
  return {};
}

std::pair<std::size_t, std::uint64_t> bulk_sender::choice() const {
  for (std::size_t line = 0; line < lines_.size(); ++line) {
    if (lines_[line].empty()) continue;
    const auto& next = lines_[line].front();
    // Half a window at most, so that one chunk can leave while the other's credit comes back.
    const auto size = std::min({rate_.chunk().count, std::max<std::uint64_t>(window_ / 2, 1),
                                next.data.size() - next.done});
    return {line, size <= credit_ ? size : 0};
  }
  return {0, 0};
}

error bulk_sender::write_loop(const std::function<void(const tensor_label&)>& sent) {
  std::unique_lock guard(lock_);
  while (true) {
    changed_.wait(guard, [this] { return closed_ || choice().second > 0; });
    if (closed_) return {errc::unavailable, "closed"};
    const auto [line, size] = choice();
    const item next = lines_[line].front();
    credit_ -= size;
    guard.unlock();
    const auto start = std::chrono::steady_clock::now();
    if (auto written = write_chunk(next, size); !written) return written.why();
    const duration time = std::chrono::steady_clock::now() - start;
    guard.lock();
    rate_.add({size}, time);
    queued_ -= size;
    sent_ += size;
    lines_[line].front().done += size;
    if (next.done + size < next.data.size()) continue;
    lines_[line].pop_front();
    guard.unlock();
    sent(next.label);
    guard.lock();
  }
}

result<void> bulk_sender::write_chunk(const item& from, std::uint64_t size) {
  const auto part = from.data.subspan(from.done, size);
  const auto header = encoded(header_of(from.label, from.done, part));
  const auto head = framed(frame_kind::chunk, header.view());
  return write_all(fd_, head, part);
}

void bulk_sender::close() {
  const std::lock_guard guard(lock_);
  closed_ = true;
  changed_.notify_all();
}

std::vector<tensor_label> bulk_sender::leftovers() {
  const std::lock_guard guard(lock_);
  std::vector<tensor_label> unsent;
  for (auto& line : lines_) {
    for (const auto& next : line) unsent.push_back(next.label);
    line.clear();
  }
  queued_ = 0;
  return unsent;
}

bytes bulk_sender::queued() const {
  const std::lock_guard guard(lock_);
  return {queued_};
}

bytes bulk_sender::sent() const {
  const std::lock_guard guard(lock_);
  return {sent_};
}

}  // namespace perigee::net
