#include "proto/fitted_status.hpp"

#include "proto/codec.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace perigee {

namespace {

bool fits(const status_report& r, std::size_t bytes_max) {
  return encoded(message(r)).size() <= bytes_max;
}

/// Keeps as many of the first elements of a list as fit.
template <class T>
void shorten(status_report& r, std::vector<T> status_report::*list, std::size_t bytes_max) {
  const auto all = std::move(r.*list);
  std::size_t kept = 0;
  std::size_t too_many = all.size() + 1;
  while (too_many - kept > 1) {
    const auto middle = kept + (too_many - kept) / 2;
    (r.*list).assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(middle));
    (fits(r, bytes_max) ? kept : too_many) = middle;
  }
  (r.*list).assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept));
}

std::set<peer_id> working(const status_report& r) {
  std::set<peer_id> all;
  for (const auto& job : r.jobs) {
    for (const auto who : participants(job.current)) all.insert(who);
  }
  return all;
}

void shorten_neighbours(status_report& r, std::size_t bytes_max) {
  const auto needed = working(r);
  const auto rank = [&](const neighbour& n) {
    return needed.contains(n.record.peer) ? 0 : n.linked ? 1 : 2;
  };
  std::stable_sort(r.neighbours.begin(), r.neighbours.end(),
                   [&](const neighbour& a, const neighbour& b) { return rank(a) < rank(b); });
  shorten(r, &status_report::neighbours, bytes_max);
  std::sort(r.neighbours.begin(), r.neighbours.end(),
            [](const neighbour& a, const neighbour& b) { return a.record.peer < b.record.peer; });
}

void shorten_jobs(status_report& r, std::size_t bytes_max) {
  const auto over = [](const progress& p) {
    return p.phase == job_phase::finished || p.phase == job_phase::halted;
  };
  std::stable_partition(r.jobs.begin(), r.jobs.end(), [&](const progress& p) { return !over(p); });
  shorten(r, &status_report::jobs, bytes_max);
}

std::string share(std::size_t kept, std::size_t all, const char* what) {
  if (kept == all) return {};
  return ", " + std::to_string(kept) + " of " + std::to_string(all) + ' ' + what;
}

}  // namespace

fitted_status fitted(status_report whole, std::size_t bytes_max) {
  if (fits(whole, bytes_max)) return {std::move(whole), {}};
  const auto neighbours = whole.neighbours.size();
  const auto jobs = whole.jobs.size();
  for (auto& job : whole.jobs) {
    job.last.states.clear();
    job.work.clear();
  }
  shorten_neighbours(whole, bytes_max);
  if (!fits(whole, bytes_max)) shorten_jobs(whole, bytes_max);
  std::string omitted = "the report is cut: no digests and accounts of jobs" +
                        share(whole.neighbours.size(), neighbours, "peers") +
                        share(whole.jobs.size(), jobs, "jobs");
  return {std::move(whole), std::move(omitted)};
}

}  // namespace perigee
