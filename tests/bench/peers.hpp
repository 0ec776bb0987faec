// Peers as processes, for the benchmarks: started, spoken to, their CPU time read, always ended.
#pragma once

#include "actors/cli/child.hpp"
#include "net/tcp/client.hpp"
#include "proto/message.hpp"
#include "tests/support/temporary_folder.hpp"

#include <memory>
#include <string>
#include <vector>

namespace perigee::bench {

/// Returns loopback addresses with ports that were free a moment ago.
result<std::vector<std::string>> free_addresses(std::uint32_t count);

/// Connects as soon as somebody listens there; fails with the last reason after `patience`.
result<net::client> reached(const std::string& address, duration patience);

class peers {
public:
  /// Starts `count` peers of one worker each, ids from 1, and connects to the first.
  static result<peers> start(std::uint32_t count);

  [[nodiscard]] net::client& first() noexcept { return *first_; }

  /// Returns the CPU time of all of them together. Fails with `stale` if one has ended.
  [[nodiscard]] result<double> cpu_seconds() const;

  /// Returns what the logs say at their ends, for an error.
  [[nodiscard]] std::string last_words() const;

private:
  peers() = default;

  std::unique_ptr<test::temporary_folder> folder_;
  std::vector<actors::child> processes_;
  std::unique_ptr<net::client> first_;
};

}  // namespace perigee::bench
