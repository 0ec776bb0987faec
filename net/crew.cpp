#include "net/crew.hpp"

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>

namespace perigee::net {

struct crew::roll {
  std::mutex lock;
  std::condition_variable changed;
  std::size_t running = 0;
};

/// Signs off when the body has returned, or when a spawner that is closing down drops it unrun.
struct crew::place {
  place(std::shared_ptr<roll> r, std::function<void()> b) : on(std::move(r)), body(std::move(b)) {}
  place(const place&) = delete;
  ~place() { sign_off(); }

  void sign_off() {
    body = nullptr;
    if (std::exchange(signed_off, true)) return;
    const std::lock_guard guard(on->lock);
    --on->running;
    on->changed.notify_all();
  }

  std::shared_ptr<roll> on;
  std::function<void()> body;
  bool signed_off = false;
};

crew::crew(spawner spawn) : spawn_(std::move(spawn)), roll_(std::make_shared<roll>()) {}

void crew::run(std::string name, std::function<void()> body) {
  {
    const std::lock_guard guard(roll_->lock);
    ++roll_->running;
  }
  auto mine = std::make_shared<place>(roll_, std::move(body));
  spawn_(std::move(name), [mine = std::move(mine)] {
    mine->body();
    mine->sign_off();
  });
}

void crew::wait() {
  std::unique_lock guard(roll_->lock);
  roll_->changed.wait(guard, [this] { return roll_->running == 0; });
}

}  // namespace perigee::net
