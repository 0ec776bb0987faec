// perigee train: submits a job through any peer and follows it, or runs it all in this process.
#include "actors/cli/child.hpp"
#include "actors/cli/collect.hpp"
#include "actors/cli/command.hpp"
#include "actors/cli/follow.hpp"
#include "actors/cli/load_job.hpp"
#include "actors/cli/memory_size.hpp"
#include "kernels/format/file.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace perigee::actors {

namespace {

struct train_options {
  std::string job;
  std::string via = "127.0.0.1:7001";
  std::string out;
  bool local = false;
  bool json = false;
  int parent = 0;
  std::uint32_t workers = 1;
  std::uint64_t memory_bytes = std::uint64_t{16} << 30U;
};

output output_of(const train_options& o) { return o.json ? output::json : output::people; }

/// Says how it ended; returns the exit code.
exit_code conclude(const train_options& o, const followed& f, const view& shown) {
  if (f.detached && !o.json) {
    fmt::print("detached; {}\n", o.local ? "the job ended with this process" : "the job goes on");
  }
  if (f.detached) return o.local ? exit_code::interrupted : exit_code::fine;
  if (f.last.phase == job_phase::halted) {
    return refused(f.last.why, exit_for_halt(f.last.why.code));
  }
  if (o.json) return exit_code::fine;
  fmt::print("finished {} steps: loss {}, measured step {}\ndigest {}\n", f.last.step,
             loss_text(f.last.last), text(shown.measured_step()), text(digest_of(f.last.last)));
  return exit_code::fine;
}

exit_code save(const train_options& o, const result<kernels::tensor_file>& weights) {
  if (!weights) return refused(weights.why());
  if (auto written = kernels::write_safetensors(o.out, *weights); !written)
    return refused(written.why());
  if (!o.json) fmt::print("weights in {}\n", o.out);
  return exit_code::fine;
}

exit_code train_through_peer(const train_options& o, const job_record& job, const signals& stop) {
  auto peer = net::client::connect(o.via, net::deadline_in(std::chrono::seconds(5)), &stop.stop());
  if (!peer && stop.came()) return exit_code::interrupted;
  if (!peer) return refused(peer.why());
  view shown(output_of(o), job.spec);
  auto f = submit_and_follow(*peer, job, shown, stop);
  if (!f) return refused(f.why());
  const auto code = conclude(o, *f, shown);
  if (code != exit_code::fine || o.out.empty() || f->detached) return code;
  return save(o, collect(*peer, job));
}

/// A step may take long, and nothing of it is kept.
[[noreturn]] void leave_now(exit_code code) {
  std::fflush(stdout);
  std::_Exit(static_cast<int>(code));
}

exit_code train_here(const train_options& o, const job_record& job, const signals& stop) {
  runtime_config config;
  config.networked = false;
  config.self.peer.value = 1;
  config.self.name = "p1";
  config.self.workers = o.workers;
  config.self.memory_offer.count = o.memory_bytes;
  auto started = runtime::start(std::move(config));
  if (!started) return refused(started.why());
  view shown(output_of(o), job.spec);
  job_record alone = job;  // wishes are about a swarm; the answer does not depend on them
  alone.wanted.stages = 0;
  alone.wanted.replicas.clear();
  alone.wanted.shares.clear();
  alone.wanted.order.clear();
  auto f = submit_and_follow(**started, alone, shown, stop);
  if (!f) return refused(f.why());
  auto code = conclude(o, *f, shown);
  if (f->detached) leave_now(code);
  if (code == exit_code::fine && !o.out.empty()) code = save(o, collect(**started, alone, f->last));
  (*started)->stop();
  return code;
}

exit_code run_train(const train_options& o) {
  if (!end_with(o.parent)) return exit_code::interrupted;
  if (!o.out.empty()) {
    if (auto possible = kernels::check_target(o.out); !possible) return refused(possible.why());
  }
  // Until here Ctrl-C ends the process: reading may take long, and there is nothing to clear away.
  auto job = load_job(o.job);
  if (!job) return refused(job.why(), exit_code::usage);
  signals stop;
  return o.local ? train_here(o, *job, stop) : train_through_peer(o, *job, stop);
}

}  // namespace

void add_train(CLI::App& app, chosen& run) {
  auto o = std::make_shared<train_options>();
  auto* c =
      app.add_subcommand("train", "submits a job through any peer and follows it; Ctrl-C detaches");
  c->footer(
      "Examples: perigee train job.toml --via 127.0.0.1:7001 --out weights.safetensors\n"
      "          perigee train --local job.toml --workers 2");
  c->add_option("JOB", o->job, "job file; see `perigee help job`")->required();
  auto* local = c->add_flag("--local", o->local, "train in this process: same engine, no network");
  c->add_option("--via", o->via, "address of any peer of the swarm")
      ->capture_default_str()
      ->excludes(local);
  c->add_option("--workers", o->workers, "with --local: threads that compute")
      ->capture_default_str()
      ->check(CLI::Range(1, 256))
      ->needs(local);
  c->add_option("--memory", o->memory_bytes,
                "with --local: memory the job may use, e.g. 2GiB; default 16GiB")
      ->transform(memory_size())
      ->needs(local);
  c->add_option("--out", o->out, "write the trained weights to this safetensors file");
  c->add_flag("--json", o->json, "one JSON object a line");
  c->add_option("--parent", o->parent, "end when this process ends")->group("");
  c->callback([o, &run] { run = [o] { return run_train(*o); }; });
}

}  // namespace perigee::actors
