// The executors that stand in this process, found by the plan they were built for.
//
// Guarantees  whoever found an executor may use it as long as it holds the pointer, even after
//             `remove`.
// Threads     any; it locks.
#pragma once

#include "proto/executor.hpp"
#include "proto/plan.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace perigee::actors {

class shelf {
public:
  /// Drops an executor whose plan was removed while it was being built.
  void put(const plan& what, std::shared_ptr<executor> built);
  void remove(job_id job, std::uint64_t epoch);

  /// Return nullptr if there is none.
  [[nodiscard]] std::shared_ptr<executor> of_epoch(job_id job, std::uint64_t epoch) const;
  [[nodiscard]] std::shared_ptr<executor> of_plan(job_id job, std::uint64_t plan_digest) const;

private:
  struct entry {
    std::uint64_t plan_digest = 0;
    std::shared_ptr<executor> built;
  };
  mutable std::mutex lock_;
  std::map<std::pair<job_id, std::uint64_t>, entry> entries_;
  std::set<std::pair<job_id, std::uint64_t>> removed_;  // epochs are few and never come again
};

}  // namespace perigee::actors
