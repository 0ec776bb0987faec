// Which links there are: at most one to each peer.
//
// Guarantees  a link with a higher incarnation replaces an older one, as does one of the same if
//             the older one is broken; it starts only when that has said on_unlinked.
// Requires    outlives the loops of its links.
// Threads     any.
#pragma once

#include "net/crew.hpp"
#include "net/tcp/link.hpp"
#include "proto/base/id.hpp"

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>

namespace perigee::net {

class switchboard {
public:
  explicit switchboard(crew& runners) : runners_(runners) {}

  /// Says why a link on these terms would be turned away.
  [[nodiscard]] result<void> judge(const link_terms& wanted) const;
  /// Starts the link, now or when the one it replaces has ended; or says why not.
  result<void> add(std::shared_ptr<link> made);

  /// Returns null if there is none.
  [[nodiscard]] std::shared_ptr<link> find(peer_id who) const;

  /// Waits until there is no link to `who`; false: closed.
  bool wait_unlinked(peer_id who);
  /// Waits for `time`; false: closed.
  bool wait(duration time);

  /// Breaks all links and turns away all that follow.
  void close(const error& why);

private:
  struct place {
    std::shared_ptr<link> current;
    std::shared_ptr<link> next;  // starts when `current` has ended
  };

  [[nodiscard]] result<void> judged(const link_terms& wanted) const;
  void start(const std::shared_ptr<link>& made);
  void on_ended(peer_id who);

  crew& runners_;
  mutable std::mutex lock_;
  std::condition_variable changed_;
  std::map<peer_id, place> places_;
  bool closed_ = false;
};

}  // namespace perigee::net
