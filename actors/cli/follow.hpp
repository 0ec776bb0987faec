// Following a job to its end, through a peer over the network or in this process.
#pragma once

#include "actors/cli/signals.hpp"
#include "actors/cli/view.hpp"
#include "actors/runtime.hpp"
#include "net/tcp/client.hpp"

#include <functional>

namespace perigee::actors {

/// How following ended: the job's last news, or the user's wish to look away (`detached`).
struct followed {
  progress last;
  bool detached = false;
};

/// Called some ten times a second, and with each news, with the last that is known; what it fails
/// with ends the following.
using watch = std::function<result<void>(const progress&)>;

/// Submits a job through `peer`, then shows its news until it is finished or halted, or a signal
/// comes. Fails with the peer's refusal, what `look` fails with, or `unavailable` if the peer is
/// gone.
result<followed> submit_and_follow(net::client& peer, const job_record& what, view& shown,
                                   const signals& stop, const watch& look = {});

/// The same for a runtime of this process.
result<followed> submit_and_follow(runtime& peer, const job_record& what, view& shown,
                                   const signals& stop);

}  // namespace perigee::actors
