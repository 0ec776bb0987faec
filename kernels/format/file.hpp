// Whole files by plain system calls: read at a place, or written so that a crash leaves the old or
// the new file.
//
// Errors are values that name the file and the operating system's reason.
#pragma once

#include "proto/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace perigee::kernels {

/// A file open for reading; closes itself.
class input_file {
public:
  static result<input_file> open(const std::string& path);
  input_file(input_file&& other) noexcept;
  input_file& operator=(input_file&&) = delete;
  ~input_file();

  /// Returns the size in bytes when it was opened.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// Fills `out` from `offset`; a file that ends before is `io`.
  result<void> read_at(std::uint64_t offset, std::span<std::byte> out) const;

private:
  input_file(std::string path, int descriptor, std::uint64_t size);
  std::string path_;
  int descriptor_;
  std::uint64_t size_;
};

/// Returns whether `path` can be written aside: it is a regular file, or a link to one, or nothing
/// stands there, and its folder takes new files. Fails with `io` and the reason.
result<void> check_target(const std::string& path);

/// Writes the pieces one after the other to a file beside `path`, its name with `.partial`, syncs
/// it, renames it to `path` (if that is a link, to the file it leads to) and syncs the folder.
/// After a failure `path` is as it was and nothing is left beside it.
result<void> write_aside(const std::string& path,
                         std::span<const std::span<const std::byte>> pieces);

/// Returns a name from a foreign file as one printable line of at most 80 bytes, for errors.
[[nodiscard]] std::string shown(std::string_view name);

}  // namespace perigee::kernels
