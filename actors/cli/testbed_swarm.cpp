#include "actors/cli/testbed_swarm.hpp"

#include "actors/cli/exit_code.hpp"
#include "actors/cli/peers_file.hpp"

#include <fmt/core.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

namespace perigee::actors {

namespace {

using namespace std::chrono_literals;

constexpr int start_attempts = 5;  // a port that was free may be taken before the node has it
constexpr duration reach_patience = 20s;
constexpr std::size_t log_tail_bytes = 600;

/// Returns loopback addresses with ports that were free a moment ago.
result<std::vector<std::string>> free_addresses(std::uint32_t count) {
  std::vector<int> open;
  std::vector<std::string> addresses;
  for (std::uint32_t i = 0; i < count; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof where;
    if (fd >= 0 && bind(fd, reinterpret_cast<sockaddr*>(&where), size) == 0 &&
        getsockname(fd, reinterpret_cast<sockaddr*>(&where), &size) == 0) {
      addresses.push_back(fmt::format("127.0.0.1:{}", ntohs(where.sin_port)));
    }
    if (fd >= 0) open.push_back(fd);
  }
  for (const int fd : open) close(fd);
  if (addresses.size() != count) return error{errc::io, "no free loopback ports"};
  return addresses;
}

std::string tail_of(const std::string& path) {
  std::ifstream in(path);
  std::stringstream all;
  all << in.rdbuf();
  auto text = all.str();
  if (text.size() > log_tail_bytes) text = text.substr(text.size() - log_tail_bytes);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

/// The peers of a test bed share this machine's cores evenly.
std::uint32_t share_of(const swarm_options& options) {
  const std::uint32_t cores = std::max(1U, std::thread::hardware_concurrency());
  return std::clamp(100 * cores / (options.peers * options.workers), 1U, 100U);
}

std::vector<std::string> node_arguments(const swarm_options& options, const peer_record& p,
                                        const std::string& list) {
  std::vector<std::string> all{own_program(), "node",
                               "--id",        std::to_string(p.peer.value),
                               "--peers",     list,
                               "--workers",   std::to_string(options.workers),
                               "--share",     std::to_string(share_of(options)),
                               "--memory",    std::to_string(options.memory.count),
                               "--parent",    std::to_string(getpid())};
  if (!options.isa.empty()) all.insert(all.end(), {"--isa", options.isa});
  return all;
}

}  // namespace

result<void> testbed_swarm::spawn(const swarm_options& options) {
  auto addresses = free_addresses(options.peers);
  if (!addresses) return addresses.why();
  peers_.clear();
  processes_.clear();
  for (std::uint32_t i = 0; i < options.peers; ++i) {
    peer_record p;
    p.peer.value = i + 1;
    p.name = text(p.peer);
    p.address = (*addresses)[i];
    peers_.push_back(std::move(p));
  }
  const auto list = options.folder + "/peers.toml";
  std::ofstream(list) << peers_text(peers_);
  for (const auto& p : peers_) {
    auto started =
        child::start(node_arguments(options, p, list), options.folder + "/" + p.name + ".log");
    if (!started) return started.why();
    processes_.push_back(std::move(*started));
  }
  return {};
}

result<void> testbed_swarm::reach(const signals& stop) {
  const auto until = std::chrono::steady_clock::now() + reach_patience;
  error last{errc::timed_out, "the first peer does not answer"};
  while (std::chrono::steady_clock::now() < until && !stop.came()) {
    if (auto alive = check(); !alive) return alive;
    auto reached = net::client::connect(peers_[0].address, net::deadline_in(1s), &stop.stop());
    if (reached) {
      first_ = std::make_unique<net::client>(std::move(*reached));
      return {};
    }
    last = reached.why();
    processes_[0].wait(20ms);
  }
  return last;
}

result<testbed_swarm> testbed_swarm::start(const swarm_options& options, const signals& stop) {
  error last{errc::io, "no peer started"};
  for (int attempt = 0; attempt < start_attempts && !stop.came(); ++attempt) {
    testbed_swarm made;
    if (auto spawned = made.spawn(options); !spawned) return spawned.why();
    auto reached = made.reach(stop);
    if (reached) return made;
    last = reached.why();
    if (last.code != errc::unavailable) break;
  }
  return last;
}

result<void> testbed_swarm::check() {
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const auto code = processes_[i].ended();
    if (!code || killed_.contains(peers_[i].peer)) continue;
    // A port that somebody took meanwhile is no fault of the job: `start` tries others.
    const bool port_taken = *code == static_cast<int>(exit_code::unreachable);
    return error{port_taken ? errc::unavailable : errc::stale,
                 fmt::format("{} ended with exit code {}: {}", peers_[i].name, *code,
                             tail_of(processes_[i].log()))};
  }
  return {};
}

result<void> testbed_swarm::kill(peer_id who) {
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    if (peers_[i].peer != who) continue;
    killed_.insert(who);
    ::kill(processes_[i].pid(), SIGKILL);
    return {};
  }
  return error{errc::malformed, "there is no " + text(who) + " to kill"};
}

void testbed_swarm::stop() {
  first_.reset();
  for (auto& p : processes_) {
    if (!p.ended()) ::kill(p.pid(), SIGTERM);
  }
  processes_.clear();
}

}  // namespace perigee::actors
