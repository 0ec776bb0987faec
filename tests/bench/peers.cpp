#include "tests/bench/peers.hpp"

#include "actors/cli/peers_file.hpp"
#include "net/tcp/address.hpp"
#include "tests/bench/measure.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

namespace perigee::bench {

namespace {

using namespace std::chrono_literals;

constexpr int look_period_ms = 2;
constexpr duration start_patience = 60s;
constexpr std::size_t last_words_max = 300;

/// The peers share this machine's cores evenly, as those of a test bed do.
std::uint32_t share_of(std::uint32_t count) {
  return std::clamp(100 * std::thread::hardware_concurrency() / count, 1U, 100U);
}

}  // namespace

result<std::vector<std::string>> free_addresses(std::uint32_t count) {
  std::vector<net::unique_fd> open;
  std::vector<std::string> addresses;
  for (std::uint32_t i = 0; i < count; ++i) {
    auto listening = net::listen_on("127.0.0.1:0");
    if (!listening) return listening.why();
    addresses.push_back(net::local_address(listening->get()));
    open.push_back(std::move(*listening));
  }
  return addresses;
}

result<net::client> reached(const std::string& address, duration patience) {
  const auto until = net::deadline_in(patience);
  while (true) {
    auto made = net::client::connect(address, std::min(until, net::deadline_in(1s)));
    if (made || std::chrono::steady_clock::now() >= until) return made;
    poll(nullptr, 0, look_period_ms);
  }
}

result<peers> peers::start(std::uint32_t count) {
  const auto addresses = free_addresses(count);
  if (!addresses) return addresses.why();
  peers made;
  made.folder_ = std::make_unique<test::temporary_folder>();
  std::vector<peer_record> list(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    list[i].peer = {i + 1};
    list[i].name = text(list[i].peer);
    list[i].address = (*addresses)[i];
  }
  const auto file = made.folder_->write("peers.toml", actors::peers_text(list));
  for (const auto& p : list) {
    auto started = actors::child::start(
        {PERIGEE_BINARY, "node", "--id", std::to_string(p.peer.value), "--peers", file, "--share",
         std::to_string(share_of(count)), "--parent", std::to_string(getpid())},
        made.folder_->file(p.name + ".log"));
    if (!started) return started.why();
    made.processes_.push_back(std::move(*started));
  }
  auto first = reached(addresses->front(), start_patience);
  if (!first) return error{first.why().code, first.why().what + "; " + made.last_words()};
  made.first_ = std::make_unique<net::client>(std::move(*first));
  return made;
}

result<double> peers::cpu_seconds() const {
  double total = 0;
  for (const auto& p : processes_) {
    const auto used = cpu_seconds_of(p.pid());
    if (!used) return used.why();
    total += *used;
  }
  return total;
}

std::string peers::last_words() const {
  std::string words = "the peers' logs end with";
  for (const auto& p : processes_) {
    const auto log = test::content_of(p.log());
    words += '\n';
    words += log.substr(log.size() - std::min(log.size(), last_words_max));
  }
  return words;
}

}  // namespace perigee::bench
