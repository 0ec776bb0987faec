#include "net/tcp/socket.hpp"

#include "net/limits.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace perigee::net {

namespace {

error closed_by_peer() { return {errc::unavailable, "closed by peer"}; }

/// The system's words for `code`, in our form: lower case first letter.
error system_error_of(int code) {
  if (code == EPIPE) return closed_by_peer();
  auto words = std::generic_category().message(code);
  if (!words.empty() && words[0] >= 'A' && words[0] <= 'Z') {
    words[0] = static_cast<char>(words[0] - 'A' + 'a');
  }
  return {errc::io, words};
}

void set_option(int fd, int level, int name, int value) {
  setsockopt(fd, level, name, &value, sizeof value);
}

/// Milliseconds for poll: rounded up, so that a wait never spins.
int left_until(real_time deadline) {
  using namespace std::chrono;
  if (deadline == real_time::max()) return -1;
  const auto left = ceil<milliseconds>(deadline - steady_clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 3'600'000));
}

result<void> wait_for(int fd, short events, real_time deadline, const alarm* stop) {
  std::array<pollfd, 2> watched{pollfd{fd, events, 0}, pollfd{stop ? stop->fd() : -1, POLLIN, 0}};
  while (true) {
    const int ready = poll(watched.data(), watched.size(), left_until(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return system_error_of(errno);
    if (watched[1].revents != 0) return error{errc::unavailable, "stopped"};
    if (watched[0].revents != 0) return {};
    if (std::chrono::steady_clock::now() >= deadline) {
      return error{errc::timed_out, "no answer in time"};
    }
  }
}

}  // namespace

unique_fd& unique_fd::operator=(unique_fd&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

unique_fd::~unique_fd() {
  if (fd_ >= 0) ::close(fd_);
}

alarm::alarm() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { CHECK(event_); }

void alarm::raise() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(event_.get(), &one, sizeof one);
}

bool alarm::raised() const noexcept {
  pollfd watched{event_.get(), POLLIN, 0};
  return poll(&watched, 1, 0) == 1;
}

result<unique_fd> listen_at(const endpoint& where) {
  unique_fd fd(socket(where.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return system_error_of(errno);
  set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (bind(fd.get(), where.address(), where.size) != 0 ||
      listen(fd.get(), limits::backlog_max) != 0) {
    const int failed = errno;
    return error{errc::io, system_error_of(failed).what +
                               (failed == EADDRINUSE ? "; choose another --listen" : "")};
  }
  return fd;
}

result<unique_fd> connect_to(const endpoint& where, real_time deadline, const alarm* stop) {
  unique_fd fd(socket(where.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return system_error_of(errno);
  if (connect(fd.get(), where.address(), where.size) != 0) {
    if (errno != EINPROGRESS) return system_error_of(errno);
    if (auto done = wait_for(fd.get(), POLLOUT, deadline, stop); !done) return done.why();
    int failed = 0;
    socklen_t size = sizeof failed;
    getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &failed, &size);
    if (failed != 0) return system_error_of(failed);
  }
  set_blocking(fd.get(), true);
  set_link_options(fd.get());
  return fd;
}

endpoint local_endpoint(int fd) {
  endpoint at;
  at.size = sizeof at.storage;
  getsockname(fd, reinterpret_cast<sockaddr*>(&at.storage), &at.size);
  return at;
}

endpoint remote_endpoint(int fd) {
  endpoint at;
  at.size = sizeof at.storage;
  getpeername(fd, reinterpret_cast<sockaddr*>(&at.storage), &at.size);
  return at;
}

void set_link_options(int fd) {
  using namespace std::chrono;
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
  const auto patience = duration_cast<milliseconds>(limits::silence_of_kernel_max).count();
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(patience));
}

void set_blocking(int fd, bool blocking) {
  const int flags = fcntl(fd, F_GETFL);
  fcntl(fd, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

result<void> read_exactly(int fd, std::span<std::byte> into, const std::function<void()>& heard) {
  while (!into.empty()) {
    const auto got = recv(fd, into.data(), into.size(), 0);
    if (got == 0) return closed_by_peer();
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error_of(errno);
    into = into.subspan(static_cast<std::size_t>(got));
    if (heard) heard();
  }
  return {};
}

result<std::size_t> read_available(int fd, std::span<std::byte> into) {
  while (true) {
    const auto got = recv(fd, into.data(), into.size(), MSG_DONTWAIT);
    if (got > 0) return static_cast<std::size_t>(got);
    if (got == 0) return closed_by_peer();
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::size_t{0};
    if (errno != EINTR) return system_error_of(errno);
  }
}

result<void> read_until(int fd, std::span<std::byte> into, real_time deadline, const alarm* stop) {
  while (!into.empty()) {
    if (auto ready = wait_readable(fd, deadline, stop); !ready) return ready;
    const auto got = read_available(fd, into);
    if (!got) return got.why();
    into = into.subspan(*got);
  }
  return {};
}

result<void> write_all(int fd, std::span<const std::byte> head, std::span<const std::byte> body) {
  while (!head.empty() || !body.empty()) {
    std::array<iovec, 2> parts{iovec{const_cast<std::byte*>(head.data()), head.size()},
                               iovec{const_cast<std::byte*>(body.data()), body.size()}};
    msghdr what{};
    what.msg_iov = parts.data();
    what.msg_iovlen = parts.size();
    const auto sent = sendmsg(fd, &what, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return system_error_of(errno);
    const auto of_head = std::min(static_cast<std::size_t>(sent), head.size());
    head = head.subspan(of_head);
    body = body.subspan(static_cast<std::size_t>(sent) - of_head);
  }
  return {};
}

result<std::size_t> write_some(int fd, std::span<const std::byte> data) {
  while (true) {
    const auto sent = ::send(fd, data.data(), data.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::size_t{0};
    if (errno != EINTR) return system_error_of(errno);
  }
}

result<void> wait_readable(int fd, real_time deadline, const alarm* stop) {
  return wait_for(fd, POLLIN, deadline, stop);
}

}  // namespace perigee::net
