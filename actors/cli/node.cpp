// perigee node: one peer, until it is told to end.
#include "actors/cli/child.hpp"
#include "actors/cli/command.hpp"
#include "actors/cli/memory_size.hpp"
#include "actors/cli/peers_file.hpp"
#include "actors/cli/signals.hpp"
#include "actors/runtime.hpp"
#include "kernels/calibrate.hpp"
#include "net/tcp/address.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <system_error>

namespace perigee::actors {

namespace {

struct node_options {
  std::string listen = "127.0.0.1:7001";
  bool listen_given = false;
  std::string peers;
  std::uint64_t id = 0;
  std::string name;
  std::string isa;
  std::uint32_t workers = 1;
  std::uint64_t memory_bytes = std::uint64_t{4} << 30U;
  std::uint32_t share_percent = 100;
  bool insecure = false;
  bool json = false;
  bool verbose = false;
  int parent = 0;
};

std::uint64_t new_incarnation() {
  return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
}

/// Finds ourselves in the list: by id if it is given, else by our address.
result<void> take_place(const node_options& o, std::vector<peer_record> list,
                        runtime_config& config) {
  for (auto& p : list) {
    const bool me = o.id != 0 ? p.peer.value == o.id : p.address == o.listen;
    if (!me) {
      config.members.push_back(std::move(p));
      continue;
    }
    if (o.listen_given && p.address != o.listen) {
      return error{errc::malformed,
                   fmt::format("{}: peer {} listens on {}, not on {}; leave out --listen or --id",
                               o.peers, p.peer.value, p.address, o.listen)};
    }
    config.self.peer = p.peer;
    config.self.name = p.name;
    config.self.address = p.address;
  }
  if (config.self.peer.value != 0) return {};
  const auto missing = o.id != 0 ? fmt::format("id {}", o.id) : "address " + o.listen;
  return error{
      errc::malformed,
      fmt::format("{}: no peer with {}; add it, or say who you are with --id", o.peers, missing)};
}

result<runtime_config> config_from(const node_options& o) {
  runtime_config config;
  config.self.address = o.listen;
  config.self.incarnation = new_incarnation();
  config.self.workers = o.workers;
  config.self.memory_offer.count = o.memory_bytes;
  config.share_percent = o.share_percent;
  if (o.peers.empty()) {
    config.self.peer.value = o.id == 0 ? 1 : o.id;
  } else {
    auto list = read_peers(o.peers);
    if (!list) return list.why();
    if (auto found = take_place(o, std::move(*list), config); !found) return found.why();
  }
  if (!net::loopback_only(config.self.address) && !o.insecure) {
    return error{errc::unsupported,
                 "will not listen on " + config.self.address +
                     ": peers do not authenticate each other yet, so only loopback is safe; "
                     "add --insecure if you trust the whole network"};
  }
  if (!o.name.empty()) config.self.name = o.name;
  if (config.self.name.empty()) config.self.name = text(config.self.peer);
  return config;
}

/// A peer does not end because nobody reads what it says any more.
void print_note(const node_options& o, const planner::note& n) try {
  if (n.how == planner::level::detail && !o.verbose) return;
  if (o.json) {
    fmt::print("{}\n",
               nlohmann::json{{"event", "note"},
                              {"level", n.how == planner::level::warning ? "warning" : "info"},
                              {"line", n.line}}
                   .dump());
  } else {
    fmt::print("{}\n", n.line);
  }
  std::fflush(stdout);
} catch (const std::system_error&) { std::clearerr(stdout); }

exit_code run_node(const node_options& o) {
  if (!end_with(o.parent)) return exit_code::fine;
  if (!o.isa.empty()) {
    if (auto capped = kernels::cap_isa(o.isa); !capped)
      return refused(capped.why(), exit_code::usage);
  }
  auto config = config_from(o);
  if (!config) return refused(config.why(), exit_code::usage);
  signals stop;
  std::atomic<bool> left = false;
  config->log = [&o](const planner::note& n) { print_note(o, n); };
  config->on_leave = [&] {
    left = true;
    stop.wake();
  };
  const auto self = config->self;
  auto started = runtime::start(std::move(*config));
  if (!started) return refused(started.why());
  const auto address = (*started)->address();
  if (o.json) {
    fmt::print(
        "{}\n",
        nlohmann::json{{"event", "listening"}, {"peer", self.peer.value}, {"address", address}}
            .dump());
  } else {
    fmt::print("{} listens on {}; {} worker{}, offers {}\n", self.name, address, self.workers,
               self.workers == 1 ? "" : "s", text(self.memory_offer));
  }
  std::fflush(stdout);
  while (!left && !stop.wait(std::chrono::hours(1))) {}
  (*started)->stop();
  return exit_code::fine;
}

}  // namespace

void add_node(CLI::App& app, chosen& run) {
  auto o = std::make_shared<node_options>();
  auto* c = app.add_subcommand("node", "one peer; runs until Ctrl-C");
  c->footer(
      "Example: perigee node --listen 127.0.0.1:7001 --peers peers.toml --workers 2 --memory 8GiB");
  auto* listen =
      c->add_option("--listen", o->listen, "address to listen on, HOST:PORT; port 0 = any")
          ->capture_default_str();
  c->add_option("--peers", o->peers, "TOML file that lists the swarm: [[peer]] id, name, address");
  c->add_option("--id", o->id, "which peer of the list this is; default: the one with our address")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 62U));
  c->add_option("--name", o->name, "name for people");
  c->add_option("--workers", o->workers, "threads that compute")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  c->add_option("--memory", o->memory_bytes, "memory offered to jobs, e.g. 512MiB; default 4GiB")
      ->transform(memory_size());
  c->add_option("--share", o->share_percent,
                "percent of a core each worker may count on, for the plan")
      ->capture_default_str()
      ->check(CLI::Range(1, 100));
  c->add_option("--isa", o->isa,
                "instruction-set cap of the kernels, e.g. avx2, to make a mixed fleet exact");
  c->add_flag("--insecure", o->insecure,
              "listen on an address that is not loopback, although anybody could join");
  c->add_flag("--json", o->json, "one JSON object a line");
  c->add_flag("--verbose", o->verbose, "print details");
  c->add_option("--parent", o->parent, "end when this process ends")->group("");
  c->callback([o, listen, &run] {
    o->listen_given = listen->count() > 0;
    run = [o] { return run_node(*o); };
  });
}

}  // namespace perigee::actors
