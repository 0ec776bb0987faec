#include "actors/cli/signals.hpp"

#include "proto/base/check.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

namespace perigee::actors {

signals::signals() {
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGINT);
  sigaddset(&wanted, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  signal_fd_ = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
  wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  CHECK(signal_fd_ >= 0 && wake_fd_ >= 0);
}

signals::~signals() {
  close(signal_fd_);
  close(wake_fd_);
}

bool signals::came() { return wait(duration::zero()); }

bool signals::wait(duration at_most) {
  if (came_) return true;
  pollfd fds[2] = {{signal_fd_, POLLIN, 0}, {wake_fd_, POLLIN, 0}};
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(at_most).count();
  poll(fds, 2, static_cast<int>(ms));
  came_ = (fds[0].revents & POLLIN) != 0;
  return came_;
}

void signals::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(wake_fd_, &one, sizeof one);
}

}  // namespace perigee::actors
