#include "actors/runtime.hpp"

#include "actors/compute_actor.hpp"
#include "actors/peer_actor.hpp"
#include "actors/workshop_actor.hpp"
#include "net/tcp/tcp_transport.hpp"

#include <caf/all.hpp>

#include <utility>

namespace perigee::actors {

namespace {

/// The settings that research measured: the default policy, stealing, costs 40 % of the kernels'
/// speed.
struct system_config : caf::actor_system_config {
  system_config() {
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", std::size_t{2});
  }
};

/// The transport of a swarm of one: nobody to reach.
class nobody final : public net::transport {
public:
  result<void> send(peer_id to, const message&) override { return no_link(to); }
  result<void> transmit(peer_id to, const net::tensor_label&, std::span<const std::byte>) override {
    return no_link(to);
  }
  void close(peer_id) override {}
  net::link_figures figures(peer_id) const override { return {}; }
  std::uint64_t dropped() const override { return 0; }

private:
  static error no_link(peer_id to) { return {errc::unknown_peer, "no link to " + text(to)}; }
};

}  // namespace

struct runtime::parts {
  runtime_config config;
  system_config settings;
  caf::actor_system system{settings};
  std::shared_ptr<shelf> executors = std::make_shared<shelf>();
  caf::actor peer;
  std::shared_ptr<carrier> links;
  std::unique_ptr<net::tcp_transport> tcp;
  nobody none;
  bool stopped = false;

  result<void> open_links();
  void spawn_actors();
};

/// The links are held until the peer's actor exists: nothing is reported before. Each blocking loop
/// of a link runs in a detached actor of its own.
result<void> runtime::parts::open_links() {
  links = std::make_shared<carrier>(
      *executors,
      [this](planner::event what, carrier::ticket until_handled) {
        caf::anon_send(peer, std::move(what), std::move(until_handled));
      },
      [this](planner::note what) { caf::anon_send(peer, std::move(what)); });
  links->use(none);
  if (!config.networked) return {};
  net::tcp_config wanted;
  wanted.self = config.self.peer;
  wanted.incarnation = config.self.incarnation;
  wanted.name = config.self.name;
  wanted.listen_address = config.self.address;
  for (const auto& member : config.members) {
    wanted.neighbours.push_back({member.peer, member.address});
  }
  wanted.held = true;
  wanted.spawn = [this](const std::string&, std::function<void()> body) {
    system.spawn<caf::detached>([body = std::move(body)](caf::blocking_actor*) { body(); });
  };
  auto opened = net::tcp_transport::open(std::move(wanted), *links);
  if (!opened) return opened.why();
  tcp = std::move(*opened);
  links->use(*tcp);
  config.self.address = tcp->address();
  return {};
}

void runtime::parts::spawn_actors() {
  effects made;
  made.links = links;
  made.executors = executors;
  made.share_percent = config.share_percent;
  made.log = config.log ? config.log : [](const planner::note&) {};
  made.on_leave = config.on_leave ? config.on_leave : [] {};
  made.workshop = system.spawn<caf::detached>(workshop_actor, config.self.peer, executors);
  for (std::uint32_t i = 0; i < config.self.workers; ++i) {
    made.lanes.push_back(system.spawn<caf::detached>(compute_actor));
  }
  const planner::peer_config machine{config.self, config.members};
  peer = system.spawn(peer_actor, machine, std::move(made));
  if (tcp) tcp->start();
}

runtime::runtime(std::unique_ptr<parts> p) : parts_(std::move(p)) {}

runtime::~runtime() { stop(); }

result<std::unique_ptr<runtime>> runtime::start(runtime_config config) {
  auto made = std::make_unique<parts>();
  made->config = std::move(config);
  if (auto opened = made->open_links(); !opened) return opened.why();
  made->spawn_actors();
  return std::unique_ptr<runtime>(new runtime(std::move(made)));
}

std::string runtime::address() const { return parts_->tcp ? parts_->tcp->address() : ""; }

caf::actor_system& runtime::system() { return parts_->system; }

void runtime::watch(const caf::actor& watcher) {
  caf::anon_send(parts_->peer, caf::add_atom::value, watcher);
}

void runtime::submit(job_record what) {
  caf::anon_send(parts_->peer, planner::event{planner::submitted{std::move(what)}});
}

status_report runtime::report() {
  status_report told;
  caf::scoped_actor asker{parts_->system};
  asker->request(parts_->peer, caf::infinite, report_atom::value)
      .receive([&](status_report& known) { told = std::move(known); }, [](const caf::error&) {});
  return parts_->links->completed(std::move(told));
}

std::vector<std::byte> runtime::state_of(const progress& job, std::uint32_t layer) const {
  const auto where = parts_->executors->of_epoch(job.job, job.current.epoch);
  if (!where) return {};
  const tensor_ref ref{tensor_kind::state, job.step, layer, 0};
  const auto held = where->hold(ref);
  std::vector<std::byte> copy(held.begin(), held.end());
  if (!held.empty()) where->release(ref);
  return copy;
}

void runtime::stop() {
  if (!parts_ || std::exchange(parts_->stopped, true)) return;
  if (parts_->tcp) parts_->tcp->stop();
  caf::anon_send_exit(parts_->peer, caf::exit_reason::user_shutdown);
  parts_->peer = nullptr;
  parts_->system.await_all_actors_done();
}

}  // namespace perigee::actors
