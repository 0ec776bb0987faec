#include "actors/cli/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <utility>

extern char** environ;

namespace perigee::actors {

namespace {

constexpr auto grace = std::chrono::seconds(3);

/// The child gets default signal handling: ours blocks SIGINT and SIGTERM to wait for them.
int spawn(const std::vector<std::string>& arguments, const std::string& log, pid_t& pid) {
  std::vector<char*> argv;
  for (const auto& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                   0644);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int failure = posix_spawn(&pid, argv[0], &files, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return failure;
}

}  // namespace

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

bool end_with(pid_t parent) {
  if (parent == 0) return true;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  return getppid() == parent;
}

result<child> child::start(const std::vector<std::string>& arguments, const std::string& log) {
  pid_t pid = -1;
  if (const int failure = spawn(arguments, log, pid); failure != 0) {
    return error{errc::io, "cannot start " + arguments[0] + ": " + std::strerror(failure)};
  }
  return child(pid, log);
}

child::child(child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), log_(std::move(other.log_)), code_(other.code_) {}

child& child::operator=(child&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(log_, other.log_);
  std::swap(code_, other.code_);
  return *this;
}

child::~child() { stop(); }

std::optional<int> child::ended() {
  if (pid_ < 0 || code_) return code_;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return code_;
}

std::optional<int> child::wait(duration at_most) {
  if (auto code = ended()) return code;
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  pollfd one{fd, POLLIN, 0};
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(at_most).count();
  poll(&one, 1, static_cast<int>(ms));
  close(fd);
  return ended();
}

void child::stop() {
  if (pid_ < 0 || ended()) return;
  kill(pid_, SIGTERM);
  if (wait(grace)) return;
  kill(pid_, SIGKILL);
  wait(grace);
}

}  // namespace perigee::actors
