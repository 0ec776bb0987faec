// perigee eval: loss and accuracy of a job's model with given weights, each sample counted once.
#include "actors/cli/command.hpp"
#include "actors/cli/load_job.hpp"
#include "kernels/evaluate.hpp"
#include "kernels/model/onnx_model.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace perigee::actors {

namespace {

struct eval_options {
  std::string job;
  std::string weights;
  std::string part = "validation";
  std::uint64_t samples = std::numeric_limits<std::uint64_t>::max();
  bool json = false;
};

/// Returns the weights of the file that was named, else those that the model's own file has.
result<kernels::tensor_file> weights_for(const eval_options& o, const specification& spec) {
  if (!o.weights.empty()) return kernels::read_safetensors(o.weights);
  if (spec.model.kind != model_kind::onnx)
    return error{errc::malformed, "no weights: name a file of them with --weights"};
  const auto graph = kernels::read_model(spec.model);
  if (!graph) return graph.why();
  return kernels::weights_in(*graph, spec.model);
}

result<kernels::evaluation> evaluated(const eval_options& o) {
  const auto job = load_job(o.job);
  if (!job) return job.why();
  const auto weights = weights_for(o, job->spec);
  if (!weights) return weights.why();
  const auto data = kernels::open_dataset(job->spec.data, job->spec.model.context);
  if (!data) return data.why();
  const bool training = o.part == "training";
  if (!training && (*data)->info().validation_count == 0)
    return error{errc::infeasible,
                 "the job keeps no samples for validation; set it in [data], or judge "
                 "--part training"};
  return kernels::evaluate(
      job->spec, **data, *weights,
      {training ? kernels::split::training : kernels::split::validation, o.samples, {}});
}

exit_code run_eval(const eval_options& o) {
  const auto e = evaluated(o);
  if (!e) return refused(e.why(), exit_code::usage);
  if (o.json) {
    const nlohmann::json j{{"event", "evaluation"},    {"part", o.part},
                           {"samples", e->samples},    {"counted", e->counted},
                           {"correct", e->correct},    {"loss", e->loss},
                           {"accuracy", e->accuracy()}};
    fmt::print("{}\n", j.dump());
  } else {
    fmt::print("{} of {} right ({:.2f} %), loss {:.6f}, over {} samples\n", e->correct, e->counted,
               100 * e->accuracy(), e->loss, e->samples);
  }
  return exit_code::fine;
}

}  // namespace

void add_eval(CLI::App& app, chosen& run) {
  auto o = std::make_shared<eval_options>();
  auto* c = app.add_subcommand("eval", "loss and accuracy of a job's model with given weights");
  c->footer("Example: perigee eval job.toml --weights weights.safetensors");
  c->add_option("JOB", o->job, "job file; its data and model are used")->required();
  c->add_option("--weights", o->weights,
                "safetensors file, as `perigee export` writes it; without it an ONNX model's own");
  c->add_option("--part", o->part, "what of the data is judged")
      ->capture_default_str()
      ->check(CLI::IsMember({"validation", "training"}));
  c->add_option("--samples", o->samples, "judge only the first so many");
  c->add_flag("--json", o->json, "one JSON object");
  c->callback([o, &run] { run = [o] { return run_eval(*o); }; });
}

}  // namespace perigee::actors
