#include "actors/cli/text_file.hpp"

#include "kernels/format/file.hpp"
#include "proto/base/units.hpp"

#include <fmt/core.h>

#include <span>

namespace perigee::actors {

namespace {

constexpr std::size_t file_max = 4U << 20U;  // bytes: a fleet of thousands

}  // namespace

result<std::string> read_text_file(const std::string& path, std::string_view what) {
  const auto file = kernels::input_file::open(path);
  if (!file) return error{errc::io, fmt::format("cannot read {}: {}", what, file.why().what)};
  if (file->size() > file_max)
    return error{errc::malformed,
                 fmt::format("{} is larger than {}: not a {}", path, text(bytes{file_max}), what)};
  std::string all(file->size(), '\0');
  if (auto read = file->read_at(0, std::as_writable_bytes(std::span(all))); !read)
    return error{errc::io, fmt::format("cannot read {}: {}", what, read.why().what)};
  return all;
}

}  // namespace perigee::actors
