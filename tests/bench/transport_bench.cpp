#include "tests/bench/transport_bench.hpp"

#include "net/tcp/address.hpp"
#include "net/tcp/tcp_transport.hpp"
#include "tests/net/child_peer.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace perigee::net::tests {

namespace {

using bench::figure;
using std::chrono::steady_clock;

constexpr int rounds = 9;
constexpr std::size_t volume = std::size_t{128} << 20U;  // bytes of one throughput measurement
constexpr int trips = 2000;                              // of one latency measurement
constexpr std::size_t small_message = 64;

double seconds_since(steady_clock::time_point start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

double quantile(std::vector<double> of, double q) {
  std::sort(of.begin(), of.end());
  return of[std::min(of.size() - 1, static_cast<std::size_t>(q * static_cast<double>(of.size())))];
}

/// A plain connection: two blocking sockets over loopback.
struct plain_pair {
  unique_fd here;
  unique_fd there;

  plain_pair() {
    auto listening = listen_on("127.0.0.1:0");
    CHECK(listening);
    auto made = connect_to(local_address(listening->get()),
                           steady_clock::now() + std::chrono::seconds(10), nullptr);
    CHECK(made && wait_readable(listening->get(), real_time::max(), nullptr));
    here = std::move(*made);
    there = unique_fd(::accept(listening->get(), nullptr, nullptr));
    set_link_options(there.get());
  }
};

double plain_throughput(plain_pair& on, std::span<const std::byte> data,
                        std::span<std::byte> room) {
  const std::size_t count = volume / data.size();
  std::array<std::byte, 1> done{};
  const auto start = steady_clock::now();
  std::jthread receiver([&] {
    for (std::size_t i = 0; i < count; ++i) CHECK(read_exactly(on.there.get(), room));
    CHECK(write_all(on.there.get(), done));
  });
  for (std::size_t i = 0; i < count; ++i) CHECK(write_all(on.here.get(), data));
  std::array<std::byte, 1> got{};
  CHECK(read_exactly(on.here.get(), got));
  return static_cast<double>(count * data.size()) / seconds_since(start) / 1e6;
}

std::vector<double> plain_round_trips(plain_pair& on) {
  std::vector<double> times;
  std::jthread echo([&] {
    std::array<std::byte, small_message> data{};
    for (int i = 0; i < trips; ++i) {
      CHECK(read_exactly(on.there.get(), data));
      CHECK(write_all(on.there.get(), data));
    }
  });
  std::array<std::byte, small_message> data{};
  for (int i = 0; i < trips; ++i) {
    const auto start = steady_clock::now();
    CHECK(write_all(on.here.get(), data));
    CHECK(read_exactly(on.here.get(), data));
    times.push_back(seconds_since(start) * 1e6);
  }
  return times;
}

/// Answers pings, takes every tensor into one room, and can keep a link busy.
class busy_owner final : public owner {
public:
  explicit busy_owner(std::size_t room_size) : room_(room_size) {}
  transport* net = nullptr;
  std::atomic<std::size_t> arrived = 0;
  std::atomic<bool> linked = false;
  std::atomic<std::size_t> resend = 0;  // tensors that are given again when they are out
  std::span<const std::byte> data;
  std::atomic<std::size_t> under_way = 0;

  void measure(std::size_t count) {
    times_.clear();
    wanted_ = count;
    finished_ = {};
    ask();
    finished_.get_future().wait();
  }
  [[nodiscard]] const std::vector<double>& times() const { return times_; }
  void fill(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      ++under_way;
      CHECK(net->transmit(p2, label_of(i, data.size()), data));
    }
  }

  void on_linked(peer_id, link_role) override {
    linked = true;
    linked.notify_all();
  }
  void on_unlinked(peer_id, const error&) override {}
  void on_heard(peer_id) override {}
  void on_message(peer_id from, message what) override {
    if (const auto* asked = std::get_if<ping>(&what)) {
      CHECK(net->send(from, pong{asked->count}));
      return;
    }
    times_.push_back(seconds_since(asked_at_) * 1e6);
    if (times_.size() == wanted_) {
      finished_.set_value();
    } else {
      ask();
    }
  }
  std::span<std::byte> room_for(peer_id, const tensor_label& label) override {
    return std::span(room_).first(label.size.count);
  }
  void on_arrived(peer_id, const tensor_label&) override {
    ++arrived;
    arrived.notify_all();
  }
  void on_transmitted(peer_id to, const tensor_label& label, bool delivered) override {
    if (resend > 0 && delivered && net->transmit(to, label, data)) return;
    --under_way;
    under_way.notify_all();
  }

private:
  void ask() {
    asked_at_ = steady_clock::now();
    CHECK(net->send(p2, ping{times_.size()}));
  }

  std::vector<std::byte> room_;
  std::vector<double> times_;
  std::size_t wanted_ = 0;
  steady_clock::time_point asked_at_{};
  std::promise<void> finished_;
};

template <class T>
void wait_until(std::atomic<T>& value, T wanted) {
  for (T now = value; now != wanted; now = value) value.wait(now);
}

struct linked_pair {
  test_threads threads;
  busy_owner at1;
  busy_owner at2;
  std::unique_ptr<tcp_transport> net2;
  std::unique_ptr<tcp_transport> net1;

  explicit linked_pair(std::size_t room_size) : at1(0), at2(room_size) {
    net2 = held(p2, {p1, ""}, at2);
    net1 = held(p1, {p2, net2->address()}, at1);
    wait_until(at1.linked, true);
    wait_until(at2.linked, true);
  }

private:
  std::unique_ptr<tcp_transport> held(peer_id self, tcp_neighbour other, busy_owner& serves) {
    tcp_config config;
    config.self = self;
    config.neighbours = {std::move(other)};
    config.held = true;
    config.spawn = threads.spawn();
    auto made = tcp_transport::open(std::move(config), serves);
    CHECK(made);
    serves.net = made->get();
    (*made)->start();
    return std::move(*made);
  }
};

double our_throughput(linked_pair& on, std::span<const std::byte> data) {
  const std::size_t count = volume / data.size();
  on.at1.data = data;
  on.at2.arrived = 0;
  const auto start = steady_clock::now();
  on.at1.fill(static_cast<std::uint32_t>(count));
  wait_until(on.at2.arrived, count);
  const double rate = static_cast<double>(count * data.size()) / seconds_since(start) / 1e6;
  wait_until(on.at1.under_way, std::size_t{0});
  return rate;
}

/// Pairs, so that what else the machine does hits both alike.
void measure_throughput(std::vector<figure>& into, std::size_t mib) {
  const auto data = pattern(mib << 20U, mib);
  std::vector<std::byte> room(data.size());
  plain_pair plain;
  linked_pair ours(data.size());
  std::vector<double> rates;
  std::vector<double> ratios;
  for (int i = 0; i < rounds; ++i) {
    const double theirs = plain_throughput(plain, data, room);
    rates.push_back(our_throughput(ours, data));
    ratios.push_back(rates.back() / theirs);
  }
  const auto name = "transport throughput, " + std::to_string(mib) + " MiB tensors";
  into.push_back({name, quantile(rates, 0.5), "MB/s", 0, true});
  into.push_back({name + ", of a plain socket's", quantile(ratios, 0.5), "", 0.6, true});
}

void measure_round_trip(std::vector<figure>& into) {
  plain_pair plain;
  linked_pair ours(1);
  std::vector<double> times;
  std::vector<double> ratios;
  for (int i = 0; i < rounds; ++i) {
    const double theirs = quantile(plain_round_trips(plain), 0.5);
    ours.at1.measure(trips);
    times.push_back(quantile(ours.at1.times(), 0.5));
    ratios.push_back(times.back() / theirs);
  }
  into.push_back({"transport round trip of a small message", quantile(times, 0.5), "us", 0, true});
  into.push_back(
      {"transport round trip, of a plain socket's", quantile(ratios, 0.5), "", 2.5, false});
}

void measure_control_under_bulk(std::vector<figure>& into) {
  const auto data = pattern(std::size_t{4} << 20U, 1);
  linked_pair ours(data.size());
  ours.at1.data = data;
  std::vector<double> busy_times;
  std::vector<double> ratios;
  for (int i = 0; i < rounds; ++i) {
    ours.at1.measure(trips);
    const double idle = quantile(ours.at1.times(), 0.99);
    ours.at1.resend = 1;
    ours.at1.fill(4);
    ours.at1.measure(trips);
    busy_times.push_back(quantile(ours.at1.times(), 0.99));
    ratios.push_back(busy_times.back() / idle);
    ours.at1.resend = 0;
    wait_until(ours.at1.under_way, std::size_t{0});
  }
  into.push_back({"control p99 while bulk saturates", quantile(busy_times, 0.5), "us", 0, true});
  into.push_back(
      {"control p99 while bulk saturates, of idle", quantile(ratios, 0.5), "", 3, false});
}

void measure_frozen_receiver(std::vector<figure>& into) {
  child_peer other;
  const auto data = pattern(std::size_t{4} << 20U, 1);
  test_threads threads;
  witness at;
  const auto net = opened({.self = p1, .neighbours = {{p2, other.address()}}}, at, threads);
  CHECK(at.wait([&] { return at.linked.contains(p2); }));
  other.freeze();
  const auto grown = growth_while_frozen(*net, data, 100);
  into.push_back({"sender memory with a frozen receiver, 400 MiB offered",
                  static_cast<double>(grown.count) / 1048576, "MiB",
                  static_cast<double>(limits::pool_default) / 1048576, false});
}

}  // namespace

}  // namespace perigee::net::tests

namespace perigee::bench {

void transport_bench(std::vector<figure>& into) {
  net::tests::measure_frozen_receiver(into);  // first: it forks
  for (const std::size_t mib : {1, 4, 16}) net::tests::measure_throughput(into, mib);
  net::tests::measure_round_trip(into);
  net::tests::measure_control_under_bulk(into);
}

}  // namespace perigee::bench
