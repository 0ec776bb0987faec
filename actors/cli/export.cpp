// perigee export: the weights of a finished job as safetensors, under PyTorch's parameter names.
#include "actors/cli/collect.hpp"
#include "actors/cli/command.hpp"
#include "actors/cli/load_job.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <chrono>

namespace perigee::actors {

namespace {

struct export_options {
  std::string job;
  std::string via = "127.0.0.1:7001";
  std::string out = "weights.safetensors";
  bool json = false;
};

exit_code run_export(const export_options& o) {
  auto job = load_job(o.job);
  if (!job) return refused(job.why(), exit_code::usage);
  auto peer = net::client::connect(o.via, net::deadline_in(std::chrono::seconds(5)));
  if (!peer) return refused(peer.why());
  auto weights = collect(*peer, *job);
  if (!weights) return refused(weights.why());
  if (auto written = kernels::write_safetensors(o.out, *weights); !written)
    return refused(written.why());
  if (o.json) {
    const nlohmann::json j{{"event", "exported"},
                           {"tensors", weights->tensors.size()},
                           {"steps", std::stoull(weights->metadata["steps"])},
                           {"file", o.out}};
    fmt::print("{}\n", j.dump());
  } else {
    fmt::print("{} tensors after step {} in {}\n", weights->tensors.size(),
               weights->metadata["steps"], o.out);
  }
  return exit_code::fine;
}

}  // namespace

void add_export(CLI::App& app, chosen& run) {
  auto o = std::make_shared<export_options>();
  auto* c = app.add_subcommand("export", "the weights of a finished job as a safetensors file");
  c->footer("Example: perigee export job.toml --via 127.0.0.1:7001 --out weights.safetensors");
  c->add_option("JOB", o->job, "the job file that was trained")->required();
  c->add_option("--via", o->via, "address of any peer of the swarm")->capture_default_str();
  c->add_option("--out", o->out, "file to write")->capture_default_str();
  c->add_flag("--json", o->json, "one JSON object");
  c->callback([o, &run] { run = [o] { return run_export(*o); }; });
}

}  // namespace perigee::actors
