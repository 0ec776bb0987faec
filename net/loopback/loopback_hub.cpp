#include "net/loopback/loopback_hub.hpp"

#include "net/limits.hpp"
#include "proto/base/check.hpp"
#include "proto/codec.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace perigee::net {

namespace {

using route = std::pair<peer_id, peer_id>;  // from, to

struct member {
  owner* serves = nullptr;
  link_role role = link_role::peer;
  std::atomic<std::uint64_t> dropped{0};
};

struct parcel {
  std::uint64_t link = 0;  // number of the link it was given to
  tensor_label label;
  std::span<const std::byte> data;
};

/// One direction of a link.
struct lane {
  std::uint64_t link = 0;  // 0: not linked
  std::size_t frames = 0;  // messages that wait
  std::deque<parcel> parcels;
  link_figures figures;
};

struct linked {
  route way;  // `to` is told of `from`
};
struct unlinked {
  route way;
  std::uint64_t link = 0;
  error why;
};
struct letter {
  route way;
  std::vector<std::byte> data;
};
using item = std::variant<linked, unlinked, letter>;

}  // namespace

struct loopback_hub::parts {
  std::mutex lock;
  std::condition_variable changed;
  std::map<peer_id, std::shared_ptr<member>> members;
  std::map<route, lane> lanes;
  std::deque<item> items;    // in the order in which they happened
  std::deque<route> loaded;  // one entry for each parcel
  std::uint64_t links = 0;
  bool stopping = false;
  std::optional<crew> runners;

  [[nodiscard]] std::shared_ptr<member> find(peer_id who) {
    const std::lock_guard guard(lock);
    const auto found = members.find(who);
    return found == members.end() ? nullptr : found->second;
  }
  result<void> send(route way, const message& what);
  result<void> transmit(route way, const tensor_label& label, std::span<const std::byte> data);
  void disconnect(peer_id a, peer_id b, const error& why);
  void leave(peer_id who);
  void deliver(const linked& what);
  void deliver(const unlinked& what);
  void deliver(const letter& what);
  void deliver(route way, const parcel& what);
  std::optional<item> next_item();
  std::optional<std::pair<route, parcel>> next_parcel();
};

/// What one member holds of the hub.
class loopback_hub::port final : public transport {
public:
  port(parts& hub, peer_id self) : hub_(hub), self_(self), me_(hub.find(self)) {}
  ~port() override { hub_.leave(self_); }

  result<void> send(peer_id to, const message& what) override {
    return hub_.send({self_, to}, what);
  }
  result<void> transmit(peer_id to, const tensor_label& label,
                        std::span<const std::byte> data) override {
    return hub_.transmit({self_, to}, label, data);
  }
  void close(peer_id who) override {
    hub_.disconnect(self_, who, {errc::unavailable, "closed by " + text(self_)});
  }
  [[nodiscard]] link_figures figures(peer_id who) const override {
    const std::lock_guard guard(hub_.lock);
    const auto found = hub_.lanes.find({self_, who});
    if (found == hub_.lanes.end()) return {};
    auto made = found->second.figures;
    made.linked = found->second.link != 0;
    made.received = hub_.lanes[{who, self_}].figures.sent;
    return made;
  }
  [[nodiscard]] std::uint64_t dropped() const override { return me_->dropped.load(); }

private:
  parts& hub_;
  const peer_id self_;
  const std::shared_ptr<member> me_;
};

result<void> loopback_hub::parts::send(route way, const message& what) {
  auto data = encoded(what);
  if (data.size() > limits::control_frame_max) {
    return error{errc::exhausted, "send " + text(what) + ": the message is too large"};
  }
  const std::lock_guard guard(lock);
  auto& on = lanes[way];
  if (on.link == 0) return error{errc::unknown_peer, "no link to " + text(way.second)};
  if (on.frames >= limits::control_queue_max) {
    return error{errc::exhausted, "too many frames wait on the link"};
  }
  ++on.frames;
  on.figures.sent += bytes{data.size()};
  items.push_back(letter{way, std::move(data)});
  changed.notify_one();
  return {};
}

result<void> loopback_hub::parts::transmit(route way, const tensor_label& label,
                                           std::span<const std::byte> data) {
  CHECK(label.size.count == data.size());
  if (data.empty()) return error{errc::malformed, "transmit " + text(label.what) + ": no bytes"};
  const std::lock_guard guard(lock);
  auto& on = lanes[way];
  if (on.link == 0) return error{errc::unknown_peer, "no link to " + text(way.second)};
  if (on.parcels.size() >= limits::transmit_queue_max) {
    return error{errc::exhausted, "too many tensors wait on the link"};
  }
  on.parcels.push_back({on.link, label, data});
  on.figures.queued += label.size;
  loaded.push_back(way);
  changed.notify_one();
  return {};
}

void loopback_hub::parts::disconnect(peer_id a, peer_id b, const error& why) {
  const std::lock_guard guard(lock);
  for (const auto& way : {route{a, b}, route{b, a}}) {
    const auto found = lanes.find(way);
    if (found == lanes.end() || found->second.link == 0) continue;
    items.push_back(unlinked{{way.second, way.first}, std::exchange(found->second.link, 0), why});
  }
  changed.notify_one();
}

void loopback_hub::parts::leave(peer_id who) {
  std::vector<peer_id> others;
  {
    const std::lock_guard guard(lock);
    members.erase(who);
    for (const auto& [way, on] : lanes) {
      if (way.first == who && on.link != 0) others.push_back(way.second);
    }
  }
  for (const auto& other : others) {
    disconnect(who, other, {errc::unavailable, "closed by " + text(who)});
  }
}

std::optional<item> loopback_hub::parts::next_item() {
  const std::lock_guard guard(lock);
  if (items.empty()) return {};
  auto next = std::move(items.front());
  items.pop_front();
  if (const auto* mail = std::get_if<letter>(&next)) --lanes[mail->way].frames;
  return next;
}

std::optional<std::pair<route, parcel>> loopback_hub::parts::next_parcel() {
  const std::lock_guard guard(lock);
  while (!loaded.empty()) {
    const auto way = loaded.front();
    loaded.pop_front();
    auto& on = lanes[way];
    if (on.parcels.empty()) continue;  // given back when the link broke
    const auto next = on.parcels.front();
    on.parcels.pop_front();
    on.figures.queued = on.figures.queued - next.label.size;
    on.figures.sent += next.label.size;
    return std::pair(way, next);
  }
  return {};
}

void loopback_hub::parts::deliver(const linked& what) {
  const auto to = find(what.way.second);
  const auto from = find(what.way.first);
  if (to && from) to->serves->on_linked(what.way.first, from->role);
}

void loopback_hub::parts::deliver(const unlinked& what) {
  const auto to = find(what.way.second);
  std::vector<tensor_label> unsent;
  {
    const std::lock_guard guard(lock);
    auto& on = lanes[{what.way.second, what.way.first}];
    while (!on.parcels.empty() && on.parcels.front().link == what.link) {
      unsent.push_back(on.parcels.front().label);
      on.figures.queued = on.figures.queued - on.parcels.front().label.size;
      on.parcels.pop_front();
    }
  }
  if (!to) return;
  for (const auto& label : unsent) to->serves->on_transmitted(what.way.first, label, false);
  to->serves->on_unlinked(what.way.first, what.why);
}

void loopback_hub::parts::deliver(const letter& what) {
  const auto to = find(what.way.second);
  if (!to) return;
  auto read = decoded(what.data);
  if (!read) {
    ++to->dropped;
    return;
  }
  to->serves->on_heard(what.way.first);
  to->serves->on_message(what.way.first, std::move(*read));
}

void loopback_hub::parts::deliver(route way, const parcel& what) {
  if (const auto to = find(way.second)) {
    to->serves->on_heard(way.first);
    const auto room = to->serves->room_for(way.first, what.label);
    if (room.empty()) {
      ++to->dropped;
    } else {
      CHECK(room.size() == what.data.size());
      std::copy(what.data.begin(), what.data.end(), room.begin());
      to->serves->on_arrived(way.first, what.label);
    }
  }
  if (const auto from = find(way.first)) from->serves->on_transmitted(way.second, what.label, true);
}

loopback_hub::loopback_hub() : parts_(std::make_unique<parts>()) {}

loopback_hub::~loopback_hub() { stop(); }

std::unique_ptr<transport> loopback_hub::join(peer_id self, owner& serves, link_role role) {
  {
    const std::lock_guard guard(parts_->lock);
    CHECK(!parts_->members.contains(self));
    auto made = std::make_shared<member>();
    made->serves = &serves;
    made->role = role;
    parts_->members.emplace(self, std::move(made));
  }
  return std::make_unique<port>(*parts_, self);
}

void loopback_hub::connect(peer_id a, peer_id b) {
  CHECK(a != b);
  const std::lock_guard guard(parts_->lock);
  CHECK(parts_->members.contains(a) && parts_->members.contains(b));
  if (parts_->lanes[{a, b}].link != 0) return;
  const auto number = ++parts_->links;
  for (const auto& way : {route{a, b}, route{b, a}}) {
    parts_->lanes[way].link = number;
    parts_->items.push_back(linked{way});
  }
  parts_->changed.notify_one();
}

void loopback_hub::disconnect(peer_id a, peer_id b, const error& why) {
  parts_->disconnect(a, b, why);
}

bool loopback_hub::pump() {
  if (const auto next = parts_->next_item()) {
    std::visit([this](const auto& what) { parts_->deliver(what); }, *next);
    return true;
  }
  const auto next = parts_->next_parcel();
  if (next) parts_->deliver(next->first, next->second);
  return next.has_value();
}

void loopback_hub::serve(spawner spawn) {
  CHECK(!parts_->runners);
  parts_->runners.emplace(std::move(spawn));
  parts_->runners->run("loopback", [this] {
    auto& p = *parts_;
    while (true) {
      while (pump()) {}
      std::unique_lock guard(p.lock);
      p.changed.wait(guard, [&] { return p.stopping || !p.items.empty() || !p.loaded.empty(); });
      if (p.stopping) return;
    }
  });
}

void loopback_hub::stop() {
  {
    const std::lock_guard guard(parts_->lock);
    parts_->stopping = true;
    parts_->changed.notify_all();
  }
  if (parts_->runners) parts_->runners->wait();
}

}  // namespace perigee::net
