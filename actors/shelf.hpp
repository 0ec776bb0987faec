// The executors that stand in this process, found by the plan they were built for.
//
// Guarantees  whoever found an executor may use it as long as it holds the pointer, even after
//             `remove`.
// Threads     any; it locks.
#pragma once

#include "planner/run/stage_place.hpp"
#include "proto/executor.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace perigee::actors {

/// An executor and its place in the plan.
struct standing {
  std::shared_ptr<executor> built;  // null: there is none
  std::shared_ptr<const planner::stage_place> where;
};

class shelf {
public:
  /// Drops an executor whose plan was removed while it was being built.
  void put(planner::stage_place where, std::shared_ptr<executor> built);
  void remove(job_id job, std::uint64_t epoch);

  [[nodiscard]] std::shared_ptr<executor> of_epoch(job_id job, std::uint64_t epoch) const;
  [[nodiscard]] standing of_plan(job_id job, std::uint64_t plan_digest) const;

private:
  struct entry {
    std::uint64_t plan_digest = 0;
    standing what;
  };
  mutable std::mutex lock_;
  std::map<std::pair<job_id, std::uint64_t>, entry> entries_;
  std::set<std::pair<job_id, std::uint64_t>> removed_;  // epochs are few and never come again
};

}  // namespace perigee::actors
