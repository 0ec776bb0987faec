// The JSON header of a safetensors file, read event by event: nothing is built that the format does
// not have, so neither depth nor repetition can be used against us.
#pragma once

#include "kernels/format/safetensors.hpp"
#include "proto/base/result.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace perigee::kernels {

struct header_entry {
  std::string name;
  dtype type{};
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  // of the data, relative to the end of the header
  std::uint64_t end = 0;
};

struct safetensors_header {
  std::vector<header_entry> entries;  // in the order of their data, which follow without a hole
  std::map<std::string, std::string> metadata;
};

/// Reads a header and checks that its tensors are exactly `data_bytes` bytes; `what` names the file
/// in errors.
result<safetensors_header> parse_safetensors_header(std::string_view json, std::uint64_t data_bytes,
                                                    std::string_view what);

}  // namespace perigee::kernels
