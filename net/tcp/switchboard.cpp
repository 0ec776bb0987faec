#include "net/tcp/switchboard.hpp"

#include "net/limits.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace perigee::net {

result<void> switchboard::judge(const link_terms& wanted) const {
  const std::lock_guard guard(lock_);
  return judged(wanted);
}

result<void> switchboard::judged(const link_terms& wanted) const {
  if (closed_) return error{errc::unavailable, "stopped"};
  const auto found = places_.find(wanted.peer);
  if (found != places_.end()) {
    const auto& newest = found->second.next ? found->second.next : found->second.current;
    const auto& terms = newest->terms();
    // A broken one is on its way out: who dials again need not wait for that.
    const bool gives_way = wanted.incarnation > terms.incarnation ||
                           (wanted.incarnation == terms.incarnation && !newest->figures().linked);
    if (gives_way && wanted.role == terms.role) return {};
    return error{errc::stale, "there is a link to " + text(wanted.peer)};
  }
  if (wanted.role == link_role::peer) return {};
  const auto clients = std::count_if(places_.begin(), places_.end(), [](const auto& at) {
    return at.second.current->terms().role == link_role::client;
  });
  if (static_cast<std::size_t>(clients) < limits::clients_max) return {};
  return error{errc::exhausted, "too many clients"};
}

result<void> switchboard::add(std::shared_ptr<link> made) {
  const auto who = made->terms().peer;
  std::shared_ptr<link> replaced;
  {
    const std::lock_guard guard(lock_);
    if (auto fine = judged(made->terms()); !fine) return fine;
    auto& at = places_[who];
    (at.current ? at.next : at.current) = made;
    if (at.next) replaced = at.current;
  }
  if (replaced) {
    replaced->close({errc::stale, "replaced by a link of a newer incarnation"});
  } else {
    start(made);
  }
  return {};
}

void switchboard::start(const std::shared_ptr<link>& made) {
  made->start(runners_, [this, who = made->terms().peer] { on_ended(who); });
}

void switchboard::on_ended(peer_id who) {
  std::shared_ptr<link> next;
  {
    const std::lock_guard guard(lock_);
    auto& at = places_[who];
    next = closed_ ? nullptr : std::move(at.next);
    if (next) {
      at = {next, nullptr};
    } else {
      places_.erase(who);
    }
    changed_.notify_all();
  }
  if (next) start(next);
}

std::shared_ptr<link> switchboard::find(peer_id who) const {
  const std::lock_guard guard(lock_);
  const auto found = places_.find(who);
  return found == places_.end() ? nullptr : found->second.current;
}

bool switchboard::wait_unlinked(peer_id who) {
  std::unique_lock guard(lock_);
  changed_.wait(guard, [&] { return closed_ || !places_.contains(who); });
  return !closed_;
}

bool switchboard::wait(duration time) {
  std::unique_lock guard(lock_);
  changed_.wait_for(guard, time, [&] { return closed_; });
  return !closed_;
}

void switchboard::close(const error& why) {
  std::vector<std::shared_ptr<link>> all;
  {
    const std::lock_guard guard(lock_);
    closed_ = true;
    for (const auto& [who, at] : places_) all.push_back(at.current);
    changed_.notify_all();
  }
  for (const auto& one : all) one->close(why);
}

}  // namespace perigee::net
