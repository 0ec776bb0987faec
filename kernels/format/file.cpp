#include "kernels/format/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace perigee::kernels {

namespace {

error refused(std::string_view attempt, const std::string& path) {
  return {errc::io, std::string(attempt) + " " + path + ": " + std::strerror(errno)};
}

/// A file descriptor that closes itself.
struct descriptor {
  int value;
  explicit descriptor(int opened) : value(opened) {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() {
    if (value >= 0) ::close(value);
  }
};

result<void> write_all(int fd, std::span<const std::byte> piece, const std::string& path) {
  while (!piece.empty()) {
    const ssize_t written = ::write(fd, piece.data(), piece.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return refused("write", path);
    piece = piece.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

result<void> write_new(const std::string& path,
                       std::span<const std::span<const std::byte>> pieces) {
  const descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (file.value < 0) return refused("create", path);
  for (const auto& piece : pieces) {
    if (auto done = write_all(file.value, piece, path); !done) return done;
  }
  if (::fsync(file.value) != 0) return refused("sync", path);
  return {};
}

/// Returns the file that a rename must replace: what a symbolic link leads to. Fails if something
/// stands there that is no file: a device or a folder must not be renamed over.
result<std::string> target_of(const std::string& path) {
  struct stat what {};
  if (::stat(path.c_str(), &what) != 0) {
    if (errno != ENOENT) return refused("write", path);
    if (::lstat(path.c_str(), &what) != 0) return path;
    return error{errc::io, "write " + path + ": a symbolic link that leads nowhere"};
  }
  if (!S_ISREG(what.st_mode)) return error{errc::io, "write " + path + ": not a regular file"};
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), ::free);
  if (!real) return refused("write", path);
  return std::string(real.get());
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash == 0 ? 1 : slash);
}

/// Makes the rename itself survive a loss of power.
result<void> sync_folder_of(const std::string& path) {
  const std::string folder = folder_of(path);
  const descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.value < 0) return refused("open", folder);
  if (::fsync(opened.value) != 0) return refused("sync", folder);
  return {};
}

}  // namespace

input_file::input_file(std::string path, int descriptor, std::uint64_t size)
    : path_(std::move(path)), descriptor_(descriptor), size_(size) {}

input_file::input_file(input_file&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

input_file::~input_file() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

result<input_file> input_file::open(const std::string& path) {
  // Not blocking: a pipe is refused below, not waited for.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return refused("open", path);
  input_file file(path, fd, 0);
  struct stat what {};
  if (::fstat(fd, &what) != 0) return refused("look at", path);
  if (!S_ISREG(what.st_mode)) return error{errc::io, "open " + path + ": not a regular file"};
  file.size_ = static_cast<std::uint64_t>(what.st_size);
  return file;
}

result<void> input_file::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(descriptor_, out.data(), out.size(), static_cast<::off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refused("read", path_);
    if (got == 0) {
      return error{errc::io, "read " + path_ + ": ends at byte " + std::to_string(offset) + ", " +
                                 std::to_string(out.size()) + " bytes early"};
    }
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

result<void> check_target(const std::string& path) {
  const auto target = target_of(path);
  if (!target) return target.why();
  const std::string folder = folder_of(*target);
  struct stat what {};
  if (::stat(folder.c_str(), &what) != 0) return refused("write " + path + ": open", folder);
  if (!S_ISDIR(what.st_mode)) return error{errc::io, "write " + path + ": no folder " + folder};
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return refused("write " + path + ": create a file in", folder);
  return {};
}

result<void> write_aside(const std::string& to,
                         std::span<const std::span<const std::byte>> pieces) {
  const auto target = target_of(to);
  if (!target) return target.why();
  const std::string& path = *target;
  const std::string partial = path + ".partial";
  if (auto done = write_new(partial, pieces); !done) {
    ::unlink(partial.c_str());
    return done;
  }
  if (std::rename(partial.c_str(), path.c_str()) != 0) {
    const error why = refused("rename " + partial + " to", path);
    ::unlink(partial.c_str());
    return why;
  }
  return sync_folder_of(path);
}

std::string shown(std::string_view name) {
  constexpr std::size_t length_max = 80;
  std::string line;
  for (const char c : name.substr(0, length_max)) {
    const auto byte = static_cast<unsigned char>(c);
    line += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  return name.size() > length_max ? line + "..." : line;
}

}  // namespace perigee::kernels
