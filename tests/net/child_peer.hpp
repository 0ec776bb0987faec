// A peer in a process of its own that can be frozen, thawed and killed: p2, which wants no tensor.
#pragma once

#include "tests/net/witness.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <string>

namespace perigee::net::tests {

class child_peer {
public:
  /// Must be called while this process has no other thread.
  child_peer() {
    std::array<int, 2> ends{};
    CHECK(::pipe(ends.data()) == 0);
    pid_ = ::fork();
    CHECK(pid_ >= 0);
    if (pid_ == 0) live(ends[1]);
    ::close(ends[1]);
    std::array<char, 64> buffer{};
    const auto got = ::read(ends[0], buffer.data(), buffer.size());
    ::close(ends[0]);
    CHECK(got > 0);
    address_.assign(buffer.data(), static_cast<std::size_t>(got));
  }
  child_peer(const child_peer&) = delete;
  ~child_peer() { kill(); }

  [[nodiscard]] const std::string& address() const noexcept { return address_; }
  void freeze() const { ::kill(pid_, SIGSTOP); }
  void thaw() const { ::kill(pid_, SIGCONT); }
  void kill() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

private:
  [[noreturn]] static void live(int tell) {
    test_threads threads;
    witness at;
    at.room = [](const tensor_label&) { return std::span<std::byte>{}; };
    const auto net = opened({.self = p2, .neighbours = {{p1, ""}}}, at, threads);
    const auto address = net->address();
    if (::write(tell, address.data(), address.size()) < 0) ::_exit(1);
    while (true) ::pause();
  }

  ::pid_t pid_ = 0;
  std::string address_;
};

/// Returns what this process has in memory.
inline bytes resident() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t pages = 0;
  file >> total >> pages;
  return {pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))};
}

/// Gives `count` times `data` to a frozen p2, waits until nothing moves any more, and returns by
/// how much this process has grown.
inline bytes growth_while_frozen(tcp_transport& net, std::span<const std::byte> data,
                                 std::uint32_t count) {
  const auto before = resident();
  for (std::uint32_t i = 0; i < count; ++i) {
    CHECK(net.transmit(p2, label_of(i, data.size()), data));
  }
  auto last = net.figures(p2).queued;
  auto since = std::chrono::steady_clock::now();
  // Not for long: after limits::silence_of_kernel_max the kernel gives a frozen peer up.
  while (std::chrono::steady_clock::now() - since < std::chrono::milliseconds(300)) {
    std::this_thread::yield();
    const auto now = net.figures(p2).queued;
    if (now != last) since = std::chrono::steady_clock::now();
    last = now;
  }
  const auto after = resident();
  return after > before ? after - before : bytes{};
}

}  // namespace perigee::net::tests
