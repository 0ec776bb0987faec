// TCP sockets: owning descriptors, and reading and writing whole ranges of bytes.
//
// Guarantees  an interrupted call is repeated; a broken connection is an error and never a signal;
//             waiting ends at a deadline or when `alarm` is raised.
// Threads     functions: any. `alarm`: any.
#pragma once

#include "proto/base/result.hpp"
#include "proto/base/units.hpp"

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>

namespace perigee::net {

using real_time = std::chrono::steady_clock::time_point;

[[nodiscard]] inline real_time deadline_in(duration patience) {
  return std::chrono::steady_clock::now() + patience;
}

/// Owns a file descriptor.
class unique_fd {
public:
  unique_fd() = default;
  explicit unique_fd(int fd) noexcept : fd_(fd) {}
  unique_fd(unique_fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  unique_fd& operator=(unique_fd&& other) noexcept;
  ~unique_fd();

  [[nodiscard]] int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

private:
  int fd_ = -1;
};

/// Ends the waits of other threads: once raised it stays so.
class alarm {
public:
  alarm();
  /// An alarm that is raised when something else, such as a signal, makes `event` readable.
  explicit alarm(unique_fd event) : event_(std::move(event)) {}
  void raise() noexcept;
  [[nodiscard]] bool raised() const noexcept;
  [[nodiscard]] int fd() const noexcept { return event_.get(); }

private:
  unique_fd event_;
};

/// Where a socket is, as the kernel says it.
struct endpoint {
  sockaddr_storage storage{};
  socklen_t size = 0;
  [[nodiscard]] const sockaddr* address() const noexcept {
    return reinterpret_cast<const sockaddr*>(&storage);
  }
  [[nodiscard]] int family() const noexcept { return storage.ss_family; }
};

result<unique_fd> listen_at(const endpoint& where);
/// Returns the connected socket, in blocking mode. Fails with `timed_out` at the deadline, and
/// with `unavailable` when the alarm is raised.
result<unique_fd> connect_to(const endpoint& where, real_time deadline, const alarm* stop);

[[nodiscard]] endpoint local_endpoint(int fd);
[[nodiscard]] endpoint remote_endpoint(int fd);

/// Switches off Nagle's delay and makes the kernel notice a dead path.
void set_link_options(int fd);
void set_blocking(int fd, bool blocking);

/// Fills `into`. `heard`, if not empty, is called whenever bytes came. An orderly end before the
/// first byte and in the middle are both `unavailable`, "closed by peer".
result<void> read_exactly(int fd, std::span<std::byte> into,
                          const std::function<void()>& heard = {});
/// The same, but not beyond a deadline.
result<void> read_until(int fd, std::span<std::byte> into, real_time deadline, const alarm* stop);

/// Reads what is there without waiting; returns how many bytes that was.
result<std::size_t> read_available(int fd, std::span<std::byte> into);

/// Writes `head` and `body` in one go.
result<void> write_all(int fd, std::span<const std::byte> head,
                       std::span<const std::byte> body = {});
/// Writes what fits without waiting; returns how many bytes that was.
result<std::size_t> write_some(int fd, std::span<const std::byte> data);

/// Returns when `fd` can be read, an error otherwise.
result<void> wait_readable(int fd, real_time deadline, const alarm* stop);

}  // namespace perigee::net
