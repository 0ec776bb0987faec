// What happened in a simulation: always as one hash, on request also as a list of what was
// computed.
//
// Guarantees  two runs of one seed have the same hash; recording changes nothing.
// Threads     none; one owner.
#pragma once

#include "proto/base/hash.hpp"
#include "proto/base/id.hpp"
#include "proto/base/instant.hpp"
#include "proto/task.hpp"

#include <string>
#include <vector>

namespace perigee::net {

/// One task on one lane.
struct computed_span {
  peer_id who;
  std::uint32_t lane = 0;
  task_kind kind{};
  std::uint32_t index = 0;
  std::uint64_t step = 0;
  instant begin{};
  instant end{};
  friend bool operator==(const computed_span&, const computed_span&) = default;
};

/// A line that a peer said: why it plans, waits or halts.
struct remark_line {
  instant at{};
  peer_id who;
  std::string line;
  friend bool operator==(const remark_line&, const remark_line&) = default;
};

enum class recording : std::uint8_t { hash_only, spans };

class trace {
public:
  explicit trace(recording how = recording::hash_only) noexcept : how_(how) {}

  template <class... Parts>
  void add(std::uint64_t first, Parts... parts) noexcept {
    hash_ = hash_of(hash_, first, static_cast<std::uint64_t>(parts)...);
  }
  void add(const computed_span& span);
  void add(remark_line line);

  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
  [[nodiscard]] bool records() const noexcept { return how_ == recording::spans; }
  [[nodiscard]] const std::vector<computed_span>& spans() const noexcept { return spans_; }
  [[nodiscard]] const std::vector<remark_line>& lines() const noexcept { return lines_; }

private:
  recording how_;
  std::uint64_t hash_ = 0;
  std::vector<computed_span> spans_;
  std::vector<remark_line> lines_;
};

}  // namespace perigee::net
