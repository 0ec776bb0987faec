// perigee export: the weights of a finished job as safetensors, under PyTorch's parameter names;
// or an ONNX file with them.
#include "actors/cli/collect.hpp"
#include "actors/cli/command.hpp"
#include "actors/cli/load_job.hpp"
#include "kernels/format/file.hpp"
#include "kernels/model/onnx/write.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <array>
#include <chrono>
#include <span>

namespace perigee::actors {

namespace {

struct export_options {
  std::string job;
  std::string via = "127.0.0.1:7001";
  std::string out;  // empty = by what is written
  bool onnx = false;
  bool json = false;
};

std::string target_of(const export_options& o) {
  return !o.out.empty() ? o.out : o.onnx ? "trained.onnx" : "weights.safetensors";
}

/// Writes what was asked for; returns the file's name.
result<std::string> written(const export_options& o, const specification& spec,
                            const kernels::tensor_file& weights) {
  const std::string out = target_of(o);
  if (!o.onnx) {
    if (auto ok = kernels::write_safetensors(out, weights); !ok) return ok.why();
    return out;
  }
  const auto data = kernels::open_dataset(spec.data, spec.model.context);
  if (!data) return data.why();
  const auto file = kernels::onnx_file_of(spec, (*data)->info(), weights);
  if (!file) return file.why();
  const std::span<const std::byte> whole(*file);
  if (auto ok = kernels::write_aside(out, std::array{whole}); !ok) return ok.why();
  return out;
}

exit_code run_export(const export_options& o) {
  if (auto possible = kernels::check_target(target_of(o)); !possible)
    return refused(possible.why());
  auto job = load_job(o.job);
  if (!job) return refused(job.why(), exit_code::usage);
  auto peer = net::client::connect(o.via, net::deadline_in(std::chrono::seconds(5)));
  if (!peer) return refused(peer.why());
  auto weights = collect(*peer, *job);
  if (!weights) return refused(weights.why());
  const auto out = written(o, job->spec, *weights);
  if (!out) return refused(out.why());
  if (o.json) {
    const nlohmann::json j{{"event", "exported"},
                           {"tensors", weights->tensors.size()},
                           {"steps", std::stoull(weights->metadata["steps"])},
                           {"file", *out}};
    fmt::print("{}\n", j.dump());
  } else {
    fmt::print("{} tensors after step {} in {}\n", weights->tensors.size(),
               weights->metadata["steps"], *out);
  }
  return exit_code::fine;
}

}  // namespace

void add_export(CLI::App& app, chosen& run) {
  auto o = std::make_shared<export_options>();
  auto* c = app.add_subcommand("export", "the weights of a finished job, as safetensors or ONNX");
  c->footer("Example: perigee export job.toml --via 127.0.0.1:7001 --out weights.safetensors");
  c->add_option("JOB", o->job, "the job file that was trained")->required();
  c->add_option("--via", o->via, "address of any peer of the swarm")->capture_default_str();
  c->add_option("--out", o->out,
                "file to write; by default weights.safetensors, or trained.onnx with --onnx");
  c->add_flag(
      "--onnx", o->onnx,
      "write an ONNX file with the trained weights; of a model that came as one, that file");
  c->add_flag("--json", o->json, "one JSON object");
  c->callback([o, &run] { run = [o] { return run_export(*o); }; });
}

}  // namespace perigee::actors
