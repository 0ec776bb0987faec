// The files in a tar archive, by name.
#pragma once

#include "kernels/format/gzip.hpp"

#include <cstddef>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace perigee::test {

/// Reads a .tar.gz; throws if it cannot be read.
inline std::map<std::string, std::vector<std::byte>> read_tar(const std::string& path) {
  constexpr std::size_t block = 512;
  const auto all = kernels::read_unzipped(path);
  if (!all) throw std::runtime_error(all.why().what);
  std::map<std::string, std::vector<std::byte>> files;
  std::size_t at = 0;
  while (at + block <= all->size()) {
    const auto* head = reinterpret_cast<const char*>(all->data()) + at;
    if (head[0] == 0) break;
    const std::string prefix(head + 345), name(head);
    const std::size_t size = std::strtoull(std::string(head + 124, 12).c_str(), nullptr, 8);
    const auto* first = all->data() + at + block;
    if (head[156] == '0' || head[156] == 0)
      files[prefix.empty() ? name : prefix + "/" + name].assign(first, first + size);
    at += block + (size + block - 1) / block * block;
  }
  return files;
}

}  // namespace perigee::test
