#include "net/tcp/socket.hpp"

#include "net/limits.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
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

struct host_port {
  std::string host;
  std::string port;
};

/// Splits `host:port`; an IPv6 host may stand in brackets.
result<host_port> split(const std::string& address) {
  const auto colon = address.rfind(':');
  const error bad{errc::malformed,
                  "address " + address + ": expected host:port, e.g. 127.0.0.1:7001"};
  if (colon == std::string::npos || colon == 0) return bad;
  host_port parts{address.substr(0, colon), address.substr(colon + 1)};
  if (parts.host.size() > 2 && parts.host.front() == '[' && parts.host.back() == ']') {
    parts.host = parts.host.substr(1, parts.host.size() - 2);
  } else if (parts.host.find(':') != std::string::npos) {
    return bad;
  }
  unsigned port = 0;
  const auto* end = parts.port.data() + parts.port.size();
  const auto read = std::from_chars(parts.port.data(), end, port);
  if (read.ec != std::errc{} || read.ptr != end || port > 65535) return bad;
  return parts;
}

using address_list = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

result<address_list> resolved(const std::string& address, int flags) {
  const auto parts = split(address);
  if (!parts) return parts.why();
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(parts->host.c_str(), parts->port.c_str(), &hints, &found);
  if (failed != 0) {
    return error{errc::unavailable, "address " + address + ": " + gai_strerror(failed)};
  }
  return address_list(found, &freeaddrinfo);
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

result<unique_fd> connected(const addrinfo& to, real_time deadline, const alarm* stop) {
  unique_fd fd(socket(to.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return system_error_of(errno);
  if (connect(fd.get(), to.ai_addr, to.ai_addrlen) != 0) {
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

result<unique_fd> listen_on(const std::string& address) {
  auto list = resolved(address, AI_PASSIVE);
  if (!list) return error{list.why().code, "cannot listen on " + list.why().what};
  const addrinfo& at = **list;
  unique_fd fd(socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return system_error_of(errno);
  set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (bind(fd.get(), at.ai_addr, at.ai_addrlen) != 0 ||
      listen(fd.get(), limits::backlog_max) != 0) {
    const int failed = errno;
    return error{errc::io, "cannot listen on " + address + ": " + system_error_of(failed).what +
                               (failed == EADDRINUSE ? "; choose another --listen" : "")};
  }
  return fd;
}

result<unique_fd> connect_to(const std::string& address, real_time deadline, const alarm* stop) {
  auto list = resolved(address, 0);
  if (!list) return list.why();
  error last{errc::unavailable, "no address"};
  for (const addrinfo* at = list->get(); at != nullptr; at = at->ai_next) {
    auto made = connected(*at, deadline, stop);
    if (made) return made;
    last = made.why();
  }
  return error{last.code, "cannot connect to " + address + ": " + last.what};
}

std::string local_address(int fd) {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size);
  std::array<char, INET6_ADDRSTRLEN> host{};
  std::string made;
  if (at.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(at);
    inet_ntop(AF_INET6, &v6.sin6_addr, host.data(), host.size());
    return made.append("[")
        .append(host.data())
        .append("]:")
        .append(std::to_string(ntohs(v6.sin6_port)));
  }
  const auto& v4 = reinterpret_cast<const sockaddr_in&>(at);
  inet_ntop(AF_INET, &v4.sin_addr, host.data(), host.size());
  return made.append(host.data()).append(":").append(std::to_string(ntohs(v4.sin_port)));
}

bool loopback_only(std::string_view address) {
  std::string host(address);
  if (host.starts_with('[')) {
    host = host.substr(1, host.find(']') - 1);
  } else if (std::count(host.begin(), host.end(), ':') == 1) {
    host = host.substr(0, host.find(':'));
  }
  if (host == "localhost") return true;
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24U) == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
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

void set_read_patience(int fd, duration patience) {
  using namespace std::chrono;
  const auto whole_us = std::max<std::int64_t>(duration_cast<microseconds>(patience).count(), 1);
  const timeval value{whole_us / 1'000'000, whole_us % 1'000'000};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &value, sizeof value);
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
    if (got < 0 && errno == EAGAIN) return error{errc::timed_out, "no answer in time"};
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
