#include "actors/carrier.hpp"

#include "net/limits.hpp"
#include "proto/base/check.hpp"
#include "proto/fitted_status.hpp"

namespace perigee::actors {

carrier::carrier(const shelf& executors, post to_peer, log to_people)
    : executors_(executors), post_(std::move(to_peer)), log_(std::move(to_people)) {}

result<void> carrier::send(peer_id to, const message& what) {
  if (const auto* told = std::get_if<status_report>(&what))
    return send_report(to, completed(*told));
  auto sent = links_->send(to, what);
  if (!sent && sent.why().code == errc::exhausted) links_->close(to);
  return sent;
}

result<void> carrier::send_report(peer_id to, const status_report& whole) {
  const auto page = fitted(whole, net::limits::control_frame_max);
  if (!page.omitted.empty()) {
    if (auto sent = links_->send(to, remark{{}, page.omitted}); !sent) return sent;
  }
  return links_->send(to, page.report);
}

status_report carrier::completed(status_report told) const {
  for (neighbour& n : told.neighbours) {
    const auto figures = links_->figures(n.record.peer);
    n.round_trip = figures.round_trip;
    n.sent = figures.sent;
    n.received = figures.received;
  }
  told.dropped_frames = links_->dropped();
  return told;
}

result<void> carrier::transmit(const planner::transmit& what) {
  auto from = executors_.of_plan(what.job, what.plan_digest).built;
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
  const bool client = role == net::link_role::client;
  {
    const std::lock_guard guard(lock_);
    parties_[who] = {client, 0};
  }
  post_(planner::linked{who, client}, {});
}

void carrier::on_unlinked(peer_id who, const error& why) {
  std::vector<std::shared_ptr<executor>> ended;
  {
    const std::lock_guard guard(lock_);
    parties_.erase(who);
    for (auto i = loans_.begin(); i != loans_.end();) {
      const bool over = std::get<0>(i->first) == who && std::get<1>(i->first) == direction::in;
      if (over) ended.push_back(std::move(i->second));
      i = over ? loans_.erase(i) : std::next(i);
    }
  }
  post_(planner::unlinked{who, why}, {});
}

void carrier::on_heard(peer_id who) { post_(planner::heard{who}, {}); }

void carrier::on_message(peer_id from, message what) {
  {
    std::unique_lock guard(line_->lock);
    line_->shorter.wait(guard, [&] { return line_->waiting[from] < messages_max; });
    ++line_->waiting[from];
  }
  const auto done = [in = line_, from](const void*) {
    const std::lock_guard guard(in->lock);
    if (--in->waiting[from] == 0) in->waiting.erase(from);
    in->shorter.notify_all();
  };
  post_(planner::received{from, std::move(what)}, ticket(this, done));
}

/// Finds the executor that expects this tensor, or says why there is none.
result<standing> carrier::place_for(peer_id from, const net::tensor_label& label) {
  {
    const std::lock_guard guard(lock_);
    const auto known = parties_.find(from);
    if (known == parties_.end() || known->second.client) {
      return error{errc::unknown_peer, "clients give no tensors"};
    }
  }
  auto to = executors_.of_plan(label.job, label.plan_digest);
  if (!to.built) return error{errc::stale, "its plan is not here"};
  const auto sender = to.where->sender_of(label.what);
  if (sender == peer_id{}) return error{errc::malformed, "the plan sends it to nobody here"};
  if (sender == from) return to;
  return error{errc::malformed, "the plan has it come from " + text(sender)};
}

std::span<std::byte> carrier::room_for(peer_id from, const net::tensor_label& label) {
  auto to = place_for(from, label);
  const auto room = to ? to->built->room(label.what) : std::span<std::byte>{};
  if (!room.empty() && room.size() == label.size.count) {
    lend({from, direction::in, label.job, label.plan_digest, label.what}, std::move(to->built));
    return room;
  }
  if (!to && to.why().code == errc::stale) return {};  // its plan has ended, or is not here yet
  if (!to) {
    complain(from, label, to.why().what);
  } else if (room.empty()) {
    complain(from, label, "it is not expected now");
  } else {
    complain(from, label, "the plan has " + std::to_string(room.size()));
  }
  return {};
}

void carrier::complain(peer_id from, const net::tensor_label& label, const std::string& why) {
  {
    const std::lock_guard guard(lock_);
    const auto known = parties_.find(from);
    if (known == parties_.end() || ++known->second.complaints > complaints_max) return;
  }
  log_({planner::level::warning, "dropped from " + text(from) + ": " + text(label.what) + ", " +
                                     std::to_string(label.size.count) + " bytes: " + why});
}

void carrier::on_arrived(peer_id from, const net::tensor_label& label) {
  const auto to = returned({from, direction::in, label.job, label.plan_digest, label.what});
  CHECK(to != nullptr);
  to->arrived(label.what);
  post_(planner::arrived{from, label.job, label.what, label.size, label.plan_digest}, {});
}

void carrier::on_transmitted(peer_id to, const net::tensor_label& label, bool delivered) {
  const auto from = returned({to, direction::out, label.job, label.plan_digest, label.what});
  CHECK(from != nullptr);
  from->release(label.what);
  if (!delivered) return;
  post_(planner::transmitted{to, label.job, label.what, label.size, label.plan_digest}, {});
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
