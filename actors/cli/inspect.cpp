// perigee inspect: the layers of a model, where it may be cut, and what each costs.
#include "actors/cli/command.hpp"
#include "actors/cli/load_job.hpp"
#include "kernels/executor_factory.hpp"
#include "kernels/model/onnx_model.hpp"
#include "kernels/stage.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <numeric>

namespace perigee::actors {

namespace {

struct inspect_options {
  std::string model;
  std::uint32_t samples = 2;  // a batch norm over rows needs two
  std::uint32_t context = 0;
  bool json = false;
};

/// Returns the profile of a job's model, or of a model file alone for `samples` at a time.
result<model_profile> profile_for(const inspect_options& o) {
  if (!o.model.ends_with(".onnx")) {
    auto job = load_job(o.model);
    if (!job) return job.why();
    return kernels::profile_of(job->spec);
  }
  specification spec;
  spec.model.kind = model_kind::onnx;
  spec.model.file = o.model;
  spec.model.context = o.context;
  spec.mini_batch = spec.micro_batch = o.samples;
  const auto graph = kernels::read_model(spec.model);
  if (!graph) return graph.why();
  const auto data = kernels::data_for(*graph, spec.model);
  if (!data) return data.why();
  return kernels::profile_of(spec, *data);
}

std::uint64_t operations(const work& w) {
  return w[0] + w[1] + w[2];  // of matrices and convolutions; the rest is bytes moved
}

/// Returns e.g. `12`, `3.4k`, `25.6M`.
std::string count_text(std::uint64_t count) {
  constexpr const char* units[] = {"", "k", "M", "G", "T", "P"};
  auto value = static_cast<double>(count);
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < std::size(units); ++unit) value /= 1000;
  return unit == 0 ? std::to_string(count) : fmt::format("{:.1f}{}", value, units[unit]);
}

void print_people(const model_profile& m) {
  fmt::print("layer                        parameters  forward  backward       kept   boundary\n");
  std::uint64_t parameters = 0, forward = 0, backward = 0;
  bytes kept;
  for (const layer_profile& l : m.layers) {
    const std::uint64_t count = l.parameters.count / sizeof(float);
    fmt::print("{:<28} {:>10} {:>8} {:>9} {:>10} {:>10}\n", l.name, count_text(count),
               count_text(operations(l.forward)), count_text(operations(l.backward)),
               text(l.kept + l.output), l.output.count == 0 ? "" : text(l.output));
    parameters += count;
    forward += operations(l.forward);
    backward += operations(l.backward);
    kept += l.kept + l.output;
  }
  fmt::print(
      "{} layers, {} cuts: {} parameters, {} operations forward and {} backward, {} kept for "
      "{} sample{}\n",
      m.layers.size(), m.layers.size() - 1, count_text(parameters), count_text(forward),
      count_text(backward), text(kept), m.micro_batch_samples,
      m.micro_batch_samples == 1 ? "" : "s");
}

void print_json(const model_profile& m) {
  for (const layer_profile& l : m.layers) {
    const nlohmann::json j{{"event", "layer"},
                           {"layer", l.name},
                           {"parameters", l.parameters.count / sizeof(float)},
                           {"forward_operations", operations(l.forward)},
                           {"backward_operations", operations(l.backward)},
                           {"state_bytes", l.state.count},
                           {"kept_bytes", l.kept.count},
                           {"transient_bytes", l.transient.count},
                           {"boundary_bytes", l.output.count}};
    fmt::print("{}\n", j.dump());
  }
}

exit_code run_inspect(const inspect_options& o) {
  const auto profile = profile_for(o);
  if (!profile) return refused(profile.why(), exit_code::usage);
  o.json ? print_json(*profile) : print_people(*profile);
  return exit_code::fine;
}

}  // namespace

void add_inspect(CLI::App& app, chosen& run) {
  auto o = std::make_shared<inspect_options>();
  auto* c = app.add_subcommand("inspect", "the layers of a model: parameters, work, bytes, cuts");
  c->footer("Example: perigee inspect model.onnx --samples 8");
  c->add_option("MODEL", o->model, "an ONNX file, or a job file")->required();
  c->add_option("--samples", o->samples, "samples at a time, for an ONNX file")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  c->add_option("--context", o->context, "tokens a sample, for an ONNX file that leaves them open")
      ->check(CLI::Range(1, 1 << 16));
  c->add_flag("--json", o->json, "one JSON object a layer");
  c->callback([o, &run] { run = [o] { return run_inspect(*o); }; });
}

}  // namespace perigee::actors
