#include "net/tcp/tcp_transport.hpp"

#include "net/tcp/address.hpp"
#include "net/tcp/dial.hpp"
#include "net/tcp/switchboard.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

namespace perigee::net {

namespace {

error no_link(peer_id to) { return {errc::unknown_peer, "no link to " + text(to)}; }

guest_list guests_of(const tcp_config& config) {
  guest_list made{config.self, {}, config.accept_unknown};
  for (const auto& one : config.neighbours) made.neighbours.insert(one.peer);
  return made;
}

}  // namespace

struct tcp_transport::parts {
  parts(tcp_config given, owner& to, unique_fd listening)
      : config(std::move(given)),
        serves(to),
        guests(guests_of(config)),
        us{config.self, config.incarnation, link_role::peer, config.name},
        names(config.lookup),
        runners(config.spawn),
        links(runners),
        door(std::move(listening), us,
             {[this](const hello& theirs) { return judge(theirs); },
              [this](const hello& theirs, channels made) {
                if (!add(theirs, std::move(made))) ++dropped;
              },
              std::chrono::steady_clock::now},
             config.greeting_patience, dropped) {}

  [[nodiscard]] link_terms terms_for(const hello& theirs) const;
  [[nodiscard]] result<void> judge(const hello& theirs) const;
  result<void> add(const hello& theirs, channels made);
  result<void> reach(const tcp_neighbour& whom);
  void keep_dialling(const tcp_neighbour& whom);
  void start();

  const tcp_config config;
  owner& serves;
  const guest_list guests;
  const caller us;
  std::atomic<std::uint64_t> dropped{0};
  alarm stopping;
  resolver names;
  crew runners;
  switchboard links;
  acceptor door;
};

link_terms tcp_transport::parts::terms_for(const hello& theirs) const {
  const auto role = role_of(theirs);
  // A client sends next to nothing; neighbours share the pool.
  const auto share = config.pool.count / std::max<std::size_t>(config.neighbours.size(), 1);
  const auto window = role == link_role::client
                          ? limits::window_min
                          : std::clamp(share, limits::window_min, limits::window_max);
  return {theirs.peer, theirs.incarnation, role, {window}};
}

result<void> tcp_transport::parts::judge(const hello& theirs) const {
  if (auto fine = admitted(guests, theirs); !fine) return fine;
  return links.judge(terms_for(theirs));
}

result<void> tcp_transport::parts::add(const hello& theirs, channels made) {
  return links.add(std::make_shared<link>(terms_for(theirs), std::move(made), serves, dropped));
}

result<void> tcp_transport::parts::reach(const tcp_neighbour& whom) {
  const auto deadline = std::chrono::steady_clock::now() + config.connect_patience;
  auto made = dial(us, whom.address, deadline, &stopping, names);
  if (!made) return made.why();
  if (made->theirs.peer != whom.peer || role_of(made->theirs) != link_role::peer) {
    ++dropped;
    return error{errc::unknown_peer, "somebody else answers for " + text(whom.peer)};
  }
  return add(made->theirs, std::move(made->sockets));
}

void tcp_transport::parts::keep_dialling(const tcp_neighbour& whom) {
  duration pause = limits::back_off_min;
  while (links.wait_unlinked(whom.peer)) {
    if (reach(whom)) {
      pause = limits::back_off_min;
      if (!links.wait_unlinked(whom.peer)) return;
    }
    if (!links.wait(pause)) return;
    pause = std::min(pause * 2, duration(limits::back_off_max));
  }
}

void tcp_transport::parts::start() {
  runners.run("accept", [this] { door.loop(stopping); });
  for (const auto& whom : config.neighbours) {
    if (whom.peer <= config.self) continue;
    runners.run("dial " + text(whom.peer), [this, &whom] { keep_dialling(whom); });
  }
}

tcp_transport::tcp_transport(std::unique_ptr<parts> p) : parts_(std::move(p)) {}

tcp_transport::~tcp_transport() { stop(); }

result<std::unique_ptr<tcp_transport>> tcp_transport::open(tcp_config config, owner& serves) {
  CHECK(config.self != peer_id{} && config.spawn);
  auto listening = listen_on(config.listen_address);
  if (!listening) return listening.why();
  auto made = std::make_unique<parts>(std::move(config), serves, std::move(*listening));
  if (!made->config.held) made->start();
  return std::unique_ptr<tcp_transport>(new tcp_transport(std::move(made)));
}

result<void> tcp_transport::send(peer_id to, const message& what) {
  const auto found = parts_->links.find(to);
  return found ? found->send(what) : no_link(to);
}

result<void> tcp_transport::transmit(peer_id to, const tensor_label& label,
                                     std::span<const std::byte> data) {
  const auto found = parts_->links.find(to);
  return found ? found->transmit(label, data) : no_link(to);
}

void tcp_transport::close(peer_id who) {
  if (const auto found = parts_->links.find(who)) found->close({errc::unavailable, "closed here"});
}

link_figures tcp_transport::figures(peer_id who) const {
  const auto found = parts_->links.find(who);
  return found ? found->figures() : link_figures{};
}

std::uint64_t tcp_transport::dropped() const { return parts_->dropped.load(); }

std::string tcp_transport::address() const { return parts_->door.address(); }

void tcp_transport::start() { parts_->start(); }

void tcp_transport::stop() {
  parts_->links.close({errc::unavailable, "stopped here"});
  parts_->stopping.raise();
  parts_->runners.wait();
}

}  // namespace perigee::net
