// What a test bed is asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace perigee::actors {

struct testbed_options {
  std::uint32_t peers = 4;
  std::string job;
  std::string text = "/usr/share/common-licenses/GPL-3";
  std::uint64_t steps = 400;
  std::uint32_t stages = 0;
  std::vector<std::uint32_t> replicas;
  std::vector<std::uint32_t> shares;
  std::vector<std::uint64_t> order;
  std::string schedule;
  std::uint32_t workers = 1;
  std::uint64_t memory_bytes = std::uint64_t{4} << 30U;
  std::vector<std::string> kills;  // PEER@STEP
  bool verify = true;
  std::uint32_t verify_workers = 2;
  std::string out;
  bool json = false;
};

/// Returns the text of the default job's file, for as many peers as are asked for.
[[nodiscard]] std::string demo_job(const testbed_options& o);

}  // namespace perigee::actors
