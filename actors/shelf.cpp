#include "actors/shelf.hpp"

namespace perigee::actors {

void shelf::put(const plan& what, std::shared_ptr<executor> built) {
  const std::lock_guard guard(lock_);
  if (removed_.contains({what.job, what.epoch})) return;
  entries_[{what.job, what.epoch}] = {digest_of(what), std::move(built)};
}

void shelf::remove(job_id job, std::uint64_t epoch) {
  std::shared_ptr<executor> last;  // ends outside the lock: it may free much memory
  const std::lock_guard guard(lock_);
  removed_.insert({job, epoch});
  const auto found = entries_.find({job, epoch});
  if (found == entries_.end()) return;
  last = std::move(found->second.built);
  entries_.erase(found);
}

std::shared_ptr<executor> shelf::of_epoch(job_id job, std::uint64_t epoch) const {
  const std::lock_guard guard(lock_);
  const auto found = entries_.find({job, epoch});
  return found == entries_.end() ? nullptr : found->second.built;
}

std::shared_ptr<executor> shelf::of_plan(job_id job, std::uint64_t plan_digest) const {
  const std::lock_guard guard(lock_);
  for (const auto& [key, found] : entries_) {
    if (key.first == job && found.plan_digest == plan_digest) return found.built;
  }
  return nullptr;
}

}  // namespace perigee::actors
