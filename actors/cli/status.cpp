// perigee status: who is here, and what runs.
#include "actors/cli/ask_status.hpp"
#include "actors/cli/command.hpp"
#include "actors/cli/view.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>

namespace perigee::actors {

namespace {

struct status_options {
  std::string via = "127.0.0.1:7001";
  bool json = false;
};

constexpr std::string_view phase_names[] = {"waiting", "planning", "preparing",
                                            "running", "finished", "halted"};

std::string phase_text(const progress& p) {
  auto line = fmt::format("{} {}, step {}/{}", text(p.job),
                          phase_names[static_cast<std::size_t>(p.phase)], p.step, p.steps);
  if (!p.last.states.empty()) line += ", loss " + loss_text(p.last);
  if (!p.why.what.empty()) line += ": " + p.why.what;
  return line;
}

bool calibrated(const peer_record& r) {
  return std::any_of(r.rate.begin(), r.rate.end(), [](std::uint64_t rate) { return rate != 0; });
}

/// Peers with equal fingerprints compute the same bits: a job among them is exact.
bool all_alike(const status_report& r) {
  return std::all_of(r.neighbours.begin(), r.neighbours.end(), [&](const neighbour& n) {
    return !n.linked || n.record.fingerprint == 0 || n.record.fingerprint == r.self.fingerprint;
  });
}

void print_people(const status_answer& answer) {
  const auto& r = answer.report;
  const auto* exactness = all_alike(r) ? "exact" : "mixed: peers' kernels differ";
  fmt::print("{} at {}: {} worker{}, offers {}, {}\n", r.self.name, r.self.address, r.self.workers,
             r.self.workers == 1 ? "" : "s", text(r.self.memory_offer),
             calibrated(r.self) ? "ready" : "measuring its kernels");
  for (const auto& n : r.neighbours) {
    fmt::print("  {:<8} {:<21} {:<8} sent {}, received {}\n", n.record.name, n.record.address,
               n.linked ? "linked" : "away", text(n.sent), text(n.received));
  }
  for (const auto& p : r.jobs) fmt::print("job {} ({})\n", phase_text(p), exactness);
  if (r.jobs.empty()) fmt::print("no jobs\n");
  if (r.dropped_frames != 0) fmt::print("{} frames dropped\n", r.dropped_frames);
  if (!answer.omitted.empty()) fmt::print("{}\n", answer.omitted);
}

nlohmann::json json_of(const peer_record& r) {
  return {{"peer", r.peer.value}, {"name", r.name},         {"address", r.address},
          {"workers", r.workers}, {"ready", calibrated(r)}, {"memory_offer", r.memory_offer.count}};
}

void print_json(const status_answer& answer) {
  const auto& r = answer.report;
  nlohmann::json j{{"self", json_of(r.self)},
                   {"neighbours", nlohmann::json::array()},
                   {"jobs", nlohmann::json::array()},
                   {"dropped_frames", r.dropped_frames},
                   {"exact", all_alike(r)}};
  for (const auto& n : r.neighbours) {
    auto one = json_of(n.record);
    one["linked"] = n.linked;
    one["sent"] = n.sent.count;
    one["received"] = n.received.count;
    j["neighbours"].push_back(std::move(one));
  }
  for (const auto& p : r.jobs) {
    j["jobs"].push_back({{"job", text(p.job)},
                         {"phase", phase_names[static_cast<std::size_t>(p.phase)]},
                         {"step", p.step},
                         {"steps", p.steps},
                         {"why", p.why.what}});
    if (!p.last.states.empty()) j["jobs"].back()["digest"] = text(digest_of(p.last));
  }
  if (!answer.omitted.empty()) j["omitted"] = answer.omitted;
  fmt::print("{}\n", j.dump());
}

exit_code run_status(const status_options& o) {
  auto peer = net::client::connect(o.via, net::deadline_in(std::chrono::seconds(5)));
  if (!peer) return refused(peer.why());
  const auto answer = ask_status(*peer, net::deadline_in(std::chrono::seconds(5)));
  if (!answer) return refused(answer.why());
  if (o.json) {
    print_json(*answer);
  } else {
    print_people(*answer);
  }
  return exit_code::fine;
}

}  // namespace

void add_status(CLI::App& app, chosen& run) {
  auto o = std::make_shared<status_options>();
  auto* c = app.add_subcommand("status", "who is here and what runs, as one peer sees it");
  c->footer("Example: perigee status --via 127.0.0.1:7001");
  c->add_option("--via", o->via, "address of the peer to ask")->capture_default_str();
  c->add_flag("--json", o->json, "one JSON object");
  c->callback([o, &run] { run = [o] { return run_status(*o); }; });
}

}  // namespace perigee::actors
