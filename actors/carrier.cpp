#include "actors/carrier.hpp"

#include "proto/base/check.hpp"

namespace perigee::actors {

carrier::carrier(const shelf& executors, post to_peer)
    : executors_(executors), post_(std::move(to_peer)) {}

result<void> carrier::send(peer_id to, const message& what) {
  auto sent = links_->send(to, what);
  if (!sent && sent.why().code == errc::exhausted) links_->close(to);
  return sent;
}

result<void> carrier::transmit(const planner::transmit& what) {
  auto from = executors_.of_plan(what.job, what.plan_digest);
  if (!from) return error{errc::stale, "transmit " + text(what.what) + ": its plan is gone"};
  const auto data = from->hold(what.what);
  if (data.empty()) return error{errc::stale, "transmit " + text(what.what) + ": no such tensor"};
  const net::tensor_label label{what.job, what.plan_digest, what.what, {data.size()}};
  const loan key{what.to, direction::out, label.job, label.plan_digest, label.what};
  lend(key, from);
  auto sent = links_->transmit(what.to, label, data);
  if (!sent) {
    returned(key);
    from->release(what.what);
    if (sent.why().code == errc::exhausted) links_->close(what.to);
  }
  return sent;
}

void carrier::on_linked(peer_id who, net::link_role role) {
  if (role == net::link_role::client) {
    const std::lock_guard guard(lock_);
    clients_.insert(who);
  }
  post_(planner::linked{who, role == net::link_role::client});
}

void carrier::on_unlinked(peer_id who, const error& why) {
  std::vector<std::shared_ptr<executor>> ended;
  {
    const std::lock_guard guard(lock_);
    clients_.erase(who);
    for (auto i = loans_.begin(); i != loans_.end();) {
      const bool over = std::get<0>(i->first) == who && std::get<1>(i->first) == direction::in;
      if (over) ended.push_back(std::move(i->second));
      i = over ? loans_.erase(i) : std::next(i);
    }
  }
  post_(planner::unlinked{who, why});
}

void carrier::on_heard(peer_id who) { post_(planner::heard{who}); }

void carrier::on_message(peer_id from, message what) {
  post_(planner::received{from, std::move(what)});
}

std::span<std::byte> carrier::room_for(peer_id from, const net::tensor_label& label) {
  if (is_client(from)) return {};
  auto to = executors_.of_plan(label.job, label.plan_digest);
  if (!to) return {};
  const auto room = to->room(label.what);
  if (room.size() != label.size.count) return {};
  lend({from, direction::in, label.job, label.plan_digest, label.what}, std::move(to));
  return room;
}

void carrier::on_arrived(peer_id from, const net::tensor_label& label) {
  returned({from, direction::in, label.job, label.plan_digest, label.what});
  post_(planner::arrived{from, label.job, label.what, label.size});
}

void carrier::on_transmitted(peer_id to, const net::tensor_label& label, bool delivered) {
  const auto from = returned({to, direction::out, label.job, label.plan_digest, label.what});
  CHECK(from != nullptr);
  from->release(label.what);
  if (delivered) post_(planner::transmitted{to, label.job, label.what, label.size});
}

bool carrier::is_client(peer_id who) {
  const std::lock_guard guard(lock_);
  return clients_.contains(who);
}

void carrier::lend(loan what, std::shared_ptr<executor> from) {
  const std::lock_guard guard(lock_);
  loans_.emplace(what, std::move(from));
}

std::shared_ptr<executor> carrier::returned(const loan& what) {
  const std::lock_guard guard(lock_);
  const auto found = loans_.find(what);
  if (found == loans_.end()) return nullptr;
  auto back = std::move(found->second);
  loans_.erase(found);
  return back;
}

}  // namespace perigee::actors
