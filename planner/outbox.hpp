// outbox: where a machine puts its actions; the shell drains it after each step.
#pragma once

#include "planner/action.hpp"

#include <utility>
#include <vector>

namespace perigee::planner {

class outbox {
public:
  void put(action what) { actions_.push_back(std::move(what)); }
  [[nodiscard]] bool empty() const noexcept { return actions_.empty(); }
  /// Returns the actions in the order they were put, and forgets them.
  [[nodiscard]] std::vector<action> drained() { return std::exchange(actions_, {}); }

private:
  std::vector<action> actions_;
};

}  // namespace perigee::planner
