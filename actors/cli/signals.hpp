// Ctrl-C and friends, as something that can be asked and waited for.
#pragma once

#include "net/tcp/socket.hpp"
#include "proto/base/units.hpp"

#include <cstdint>

namespace perigee::actors {

/// Routes SIGINT and SIGTERM here instead of ending the process; SIGPIPE is ignored. Call before
/// threads are made.
class signals {
public:
  signals();
  signals(const signals&) = delete;
  signals& operator=(const signals&) = delete;

  /// Returns whether one has come.
  [[nodiscard]] bool came() const;
  /// Waits until one comes, `wake` is called, or the time is over; returns whether one came.
  bool wait(duration at_most);
  /// Ends a `wait` from another thread.
  void wake();
  /// Returns an alarm that the first signal raises for good.
  [[nodiscard]] const net::alarm& stop() const noexcept { return stop_; }

private:
  net::alarm stop_;
  net::alarm wake_;
};

}  // namespace perigee::actors
