#include "actors/shelf.hpp"

namespace perigee::actors {

void shelf::put(planner::stage_place where, std::shared_ptr<executor> built) {
  const std::pair key{where.whole.job, where.whole.epoch};
  const auto digest = digest_of(where.whole);
  const std::lock_guard guard(lock_);
  if (removed_.contains(key)) return;
  auto place = std::make_shared<const planner::stage_place>(std::move(where));
  entries_[key] = {digest, {std::move(built), std::move(place)}};
}

void shelf::remove(job_id job, std::uint64_t epoch) {
  std::shared_ptr<executor> last;  // ends outside the lock: it may free much memory
  const std::lock_guard guard(lock_);
  removed_.insert({job, epoch});
  const auto found = entries_.find({job, epoch});
  if (found == entries_.end()) return;
  last = std::move(found->second.what.built);
  entries_.erase(found);
}

std::shared_ptr<executor> shelf::of_epoch(job_id job, std::uint64_t epoch) const {
  const std::lock_guard guard(lock_);
  const auto found = entries_.find({job, epoch});
  return found == entries_.end() ? nullptr : found->second.what.built;
}

standing shelf::of_plan(job_id job, std::uint64_t plan_digest) const {
  const std::lock_guard guard(lock_);
  for (const auto& [key, found] : entries_) {
    if (key.first == job && found.plan_digest == plan_digest) return found.what;
  }
  return {};
}

}  // namespace perigee::actors
