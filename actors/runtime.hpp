// The face for embedding: one whole peer inside a program.
//
// A runtime starts the peer's actors and threads and connects them. A program may spawn its own CAF
// actors beside ours in `system()`, and let them watch jobs.
//
// Guarantees  `stop` (and the destructor) ends every thread that `start` made.
// Requires    at most one call of `stop`; no live scoped_actor of `system()` when it is called,
//             and the program's own actors have ended.
// Threads     any, but start and stop.
#pragma once

#include "planner/action.hpp"
#include "planner/peer.hpp"
#include "proto/base/result.hpp"
#include "proto/message.hpp"

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include <functional>
#include <memory>
#include <string>

namespace perigee::actors {

struct runtime_config {
  peer_record self;  // `address` is where to listen, `workers` how many lanes compute
  std::vector<peer_record> members;               // the others
  std::uint32_t share_percent = 100;              // of a core, that each worker may count on
  bool networked = true;                          // false: no socket at all, a swarm of one
  std::function<void(const planner::note&)> log;  // called from the peer's thread; may be empty
  std::function<void()> on_leave;                 // a client asked the peer to end; may be empty
};

class runtime {
public:
  /// Fails with `io` if the address cannot be listened on, naming it.
  static result<std::unique_ptr<runtime>> start(runtime_config config);
  ~runtime();

  /// Returns host:port the peer really listens on; empty if not networked.
  [[nodiscard]] std::string address() const;

  caf::actor_system& system();

  /// From now on `watcher` gets a `progress` message at each phase change and each step of every
  /// job.
  void watch(const caf::actor& watcher);

  /// Submits a job as a client would; what comes of it is told to the watchers.
  void submit(job_record what);

  /// Returns what the peer knows; blocks until it answers.
  [[nodiscard]] status_report report();

  /// Returns the bytes of a layer's state of a job that does not run any more, or an empty vector.
  [[nodiscard]] std::vector<std::byte> state_of(const progress& job, std::uint32_t layer) const;

  void stop();

private:
  struct parts;
  explicit runtime(std::unique_ptr<parts> p);
  std::unique_ptr<parts> parts_;
};

}  // namespace perigee::actors
