// What the tests of `net` stand on: threads that are joined, and an owner that remembers what it
// was told and can be waited for.
#pragma once

#include "net/crew.hpp"
#include "net/tcp/tcp_transport.hpp"
#include "net/transport.hpp"

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace perigee::net::tests {

/// Runs each body on a thread of its own; joins them all at the end.
class test_threads {
public:
  [[nodiscard]] spawner spawn() {
    return [this](std::string, std::function<void()> body) {
      const std::lock_guard guard(lock_);
      threads_.emplace_back(std::move(body));
    };
  }

private:
  std::mutex lock_;
  std::list<std::jthread> threads_;
};

/// An owner that writes down what it is told. Its data may be read inside `wait`'s condition, or
/// when nothing can be under way any more.
class witness : public owner {
public:
  struct received {
    peer_id from;
    message what;
  };
  struct given {
    tensor_label label;
    bool delivered = false;
  };
  struct arrival {
    peer_id from;
    tensor_label label;
    std::vector<std::byte> data;
  };

  std::set<peer_id> linked;
  std::vector<received> messages;
  std::vector<arrival> arrivals;
  std::vector<given> transmitted;
  std::size_t heard = 0;

  /// If set, called for each message after it is noted, without a lock.
  std::function<void(peer_id, const message&)> reaction;
  /// The same for each tensor that was delivered.
  std::function<void(const tensor_label&)> sent;
  /// If set, asked instead of making room for everything.
  std::function<std::span<std::byte>(const tensor_label&)> room;

  /// Returns what was said of links that came and went; at any time.
  [[nodiscard]] std::vector<std::string> lines() {
    const std::lock_guard guard(lock_);
    return lines_;
  }

  /// Waits until `holds` does, at most a minute; returns whether it does.
  bool wait(const std::function<bool()>& holds) {
    std::unique_lock guard(lock_);
    return changed_.wait_for(guard, std::chrono::minutes(1), holds);
  }

  void on_linked(peer_id who, link_role role) override {
    note([&] {
      linked.insert(who);
      lines_.push_back("linked " + text(who) + (role == link_role::client ? ", a client" : ""));
    });
  }
  void on_unlinked(peer_id who, const error& why) override {
    note([&] {
      linked.erase(who);
      std::erase_if(coming_, [&](const arrival& a) { return a.from == who; });
      lines_.push_back("unlinked " + text(who) + ": " + why.what);
    });
  }
  void on_heard(peer_id) override {
    note([&] { ++heard; });
  }
  void on_message(peer_id from, message what) override {
    note([&] { messages.push_back({from, what}); });
    if (reaction) reaction(from, what);
  }
  std::span<std::byte> room_for(peer_id from, const tensor_label& label) override {
    if (room) return room(label);
    const std::lock_guard guard(lock_);
    coming_.push_back({from, label, std::vector<std::byte>(label.size.count)});
    return coming_.back().data;
  }
  void on_arrived(peer_id from, const tensor_label& label) override {
    note([&] {
      for (auto at = coming_.begin(); at != coming_.end(); ++at) {
        if (at->from != from || at->label != label) continue;
        arrivals.push_back(std::move(*at));
        coming_.erase(at);
        return;
      }
      arrivals.push_back({from, label, {}});
    });
  }
  void on_transmitted(peer_id, const tensor_label& label, bool delivered) override {
    note([&] { transmitted.push_back({label, delivered}); });
    if (sent && delivered) sent(label);
  }

private:
  void note(const std::function<void()>& what) {
    const std::lock_guard guard(lock_);
    what();
    changed_.notify_all();
  }

  std::recursive_mutex lock_;
  std::condition_variable_any changed_;
  std::vector<std::string> lines_;
  std::list<arrival> coming_;
};

inline constexpr peer_id p1{1};
inline constexpr peer_id p2{2};
inline constexpr peer_id p3{3};

/// Returns the name of the `index`-th tensor of a test.
inline tensor_label label_of(std::uint32_t index, std::size_t size,
                             tensor_kind kind = tensor_kind::activation) {
  return {job_id{{7, 9}}, 11, {kind, 5, 2, index}, {size}};
}

/// Returns bytes that differ along the tensor and between seeds.
inline std::vector<std::byte> pattern(std::size_t size, std::uint64_t seed) {
  std::vector<std::byte> made(size);
  std::uint64_t x = seed * 2654435761U + 1;
  for (auto& b : made) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    b = static_cast<std::byte>(x >> 56U);
  }
  return made;
}

struct peer_options {
  peer_id self;
  std::uint64_t incarnation = 1;
  std::string listen = "127.0.0.1:0";
  std::vector<tcp_neighbour> neighbours = {};
  bytes pool{limits::pool_default};
  bool accept_unknown = false;
  /// A busy machine is no fault: long, but where a test is about it.
  duration greeting_patience = std::chrono::minutes(1);
  resolver::lookup lookup = resolver::by_system;
};

/// Opens a transport that must open.
inline std::unique_ptr<tcp_transport> opened(const peer_options& wanted, owner& serves,
                                             test_threads& threads) {
  tcp_config config;
  config.self = wanted.self;
  config.incarnation = wanted.incarnation;
  config.listen_address = wanted.listen;
  config.neighbours = wanted.neighbours;
  config.pool = wanted.pool;
  config.accept_unknown = wanted.accept_unknown;
  config.connect_patience = std::chrono::minutes(1);
  config.greeting_patience = wanted.greeting_patience;
  config.lookup = wanted.lookup;
  config.spawn = threads.spawn();
  auto made = tcp_transport::open(std::move(config), serves);
  CHECK(made);
  return std::move(*made);
}

/// Waits, at most a minute, until so many frames were dropped.
inline bool counted(const tcp_transport& net, std::uint64_t at_least) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (net.dropped() < at_least) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Two linked peers: p1 dialled p2.
struct two_peers {
  test_threads threads;
  witness at1;
  witness at2;
  std::unique_ptr<tcp_transport> net2;
  std::unique_ptr<tcp_transport> net1;

  explicit two_peers(bytes pool = {limits::pool_default}) {
    net2 = opened({.self = p2, .neighbours = {{p1, ""}}, .pool = pool}, at2, threads);
    net1 = opened({.self = p1, .neighbours = {{p2, net2->address()}}, .pool = pool}, at1, threads);
    CHECK(at1.wait([&] { return at1.linked.contains(p2); }));
    CHECK(at2.wait([&] { return at2.linked.contains(p1); }));
  }
};

}  // namespace perigee::net::tests
