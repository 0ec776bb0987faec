// The threads of a transport: who runs its blocking loops, and when all of them have returned.
//
// A transport makes no thread of its own: inside a peer each loop is run by a detached actor, in a
// test by a std::jthread.
//
// Guarantees  after `wait` no loop runs any more, nor will one that was asked for start.
// Threads     any.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace perigee::net {

/// Runs `body` on a thread of its own and returns at once. `name` is for people.
using spawner = std::function<void(std::string name, std::function<void()> body)>;

class crew {
public:
  explicit crew(spawner spawn);

  void run(std::string name, std::function<void()> body);
  /// Must not be called from a loop.
  void wait();

private:
  struct roll;
  struct place;
  spawner spawn_;
  std::shared_ptr<roll> roll_;
};

}  // namespace perigee::net
