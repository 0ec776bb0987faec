// From `host:port` to sockets: names are looked up, addresses tried.
//
// Looking up a name can take the system half a minute, and nothing ends it. So each is looked up in
// a thread of its own, which nobody waits for longer than a deadline: whoever asks again meanwhile
// waits for the same one. Addresses in digits are not looked up at all.
//
// Guarantees  every wait ends at its deadline or when the alarm is raised; there is one thread a
//             name at most, whatever is asked how often.
// Threads     any.
#pragma once

#include "net/tcp/socket.hpp"
#include "proto/base/result.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace perigee::net {

class resolver {
public:
  /// Returns the places of `host:port`, the best first. May block.
  using lookup = std::function<result<std::vector<endpoint>>(const std::string& address)>;
  static result<std::vector<endpoint>> by_system(const std::string& address);

  explicit resolver(lookup how = by_system);

  /// Fails with `malformed` if it is no address, `unavailable` if the name is not known.
  result<std::vector<endpoint>> find(const std::string& address, real_time deadline,
                                     const alarm* stop);

private:
  struct search;
  struct searches;
  std::shared_ptr<search> begun(const std::string& address);
  std::shared_ptr<searches> searches_;
};

/// Listens on `host:port` (port 0: any). The error names the address and what to do.
result<unique_fd> listen_on(const std::string& address);

/// Tries each address of the name, none beyond its share of the time. Fails with `io` if nobody
/// listens there, and as waiting does.
result<unique_fd> connect_to(const std::string& address, real_time deadline, const alarm* stop,
                             resolver& names);
result<unique_fd> connect_to(const std::string& address, real_time deadline, const alarm* stop);

/// Returns `host:port` the socket is bound to.
[[nodiscard]] std::string local_address(int fd);

/// Says whether every connection to `address` (`host` or `host:port`) stays on this machine:
/// 127.0.0.0/8, ::1 or localhost.
[[nodiscard]] bool loopback_only(std::string_view address);

}  // namespace perigee::net
