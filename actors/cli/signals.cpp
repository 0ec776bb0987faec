#include "actors/cli/signals.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

namespace perigee::actors {

namespace {

/// Nobody reads what it holds: once readable, it stays so.
net::unique_fd routed() {
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGINT);
  sigaddset(&wanted, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  net::unique_fd fd(signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  CHECK(fd);
  return fd;
}

}  // namespace

signals::signals() : stop_(routed()) {}

bool signals::came() const { return stop_.raised(); }

bool signals::wait(duration at_most) {
  pollfd fds[2] = {{stop_.fd(), POLLIN, 0}, {wake_.fd(), POLLIN, 0}};
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(at_most).count();
  poll(fds, 2, static_cast<int>(ms));
  return came();
}

void signals::wake() { wake_.raise(); }

}  // namespace perigee::actors
