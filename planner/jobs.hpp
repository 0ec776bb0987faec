// All jobs that a peer knows, and what clients and members ask about them.
//
// Guarantees  at most jobs_max jobs and subscribers_max subscribers; the oldest job that is over
//             makes room for a new one.
// Threads     none; one owner calls it (see planner/machine.hpp).
#pragma once

#include "planner/job.hpp"

#include <map>
#include <memory>
#include <vector>

namespace perigee::planner {

class jobs {
public:
  /// `view` outlives this.
  explicit jobs(swarm_view& view) : view_(view) {}

  /// Consumes one event; `view` has taken note of it before.
  void step(instant now, const event& e, outbox& out);
  [[nodiscard]] instant deadline() const noexcept;

  /// Returns how each job stands, in the order of their ids.
  [[nodiscard]] std::vector<progress> report() const;

private:
  void on(instant now, const received& e, outbox& out);
  void on_record(const job_record& what, peer_id from, outbox& out);
  void on_submission(const job_record& what, peer_id client, outbox& out);
  void on_subscription(job_id which, peer_id who, outbox& out);
  void on_unlinked(peer_id who);
  [[nodiscard]] job* find(job_id which);
  /// Returns whether there is room for one more, having made it if need be.
  [[nodiscard]] bool make_room(outbox& out);
  void add(const job_record& what, origin from, outbox& out);
  /// Begins anew a job that is known, for those who follow it, too.
  void replace(const job_record& what, origin from, outbox& out);
  void to_job(instant now, job_id which, const event& e, outbox& out);
  void to_all(instant now, const event& e, outbox& out);

  struct entry {
    std::uint64_t number = 0;  // in the order in which they came
    std::unique_ptr<job> what;
  };
  swarm_view& view_;
  std::map<job_id, entry> jobs_;
  std::uint64_t count_ = 0;
};

static_assert(machine<jobs>);

}  // namespace perigee::planner
