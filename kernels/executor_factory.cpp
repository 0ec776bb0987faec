#include "kernels/executor_factory.hpp"

#include "kernels/calibrate.hpp"
#include "kernels/engine.hpp"
#include "kernels/model/builders.hpp"
#include "kernels/model/onnx_model.hpp"
#include "kernels/model/profile.hpp"
#include "kernels/optimizer/optimizer.hpp"
#include "kernels/stage.hpp"
#include "kernels/weights.hpp"

#include <algorithm>

namespace perigee::kernels {

namespace {

constexpr std::uint32_t blocks_max = 1024;   // of a transformer, or of a resolution
constexpr std::size_t resolutions_max = 12;  // the width doubles at each
constexpr std::uint32_t width_max = 65536;

/// A specification may come from anybody: what it asks for is bounded before anything is built.
result<void> bounded(const model_spec& m) {
  const auto too_much = [](const std::string& what) {
    return error{errc::malformed, "job.model." + what + " is out of range; see `perigee help job`"};
  };
  if (m.blocks > blocks_max) return too_much("blocks");
  if (m.width > width_max) return too_much("width");
  if (m.context > width_max) return too_much("context");
  if (m.hidden.size() > blocks_max) return too_much("hidden");
  if (m.stages.size() > resolutions_max) return too_much("stages");
  for (const std::uint32_t width : m.hidden) {
    if (width > width_max) return too_much("hidden");
  }
  for (const std::uint32_t blocks : m.stages) {
    if (blocks > blocks_max) return too_much("stages");
  }
  return {};
}

result<void> checked(const specification& spec) {
  if (auto ok = bounded(spec.model); !ok) return ok;
  if (spec.micro_batch == 0) return error{errc::malformed, "job.micro_batch must be at least 1"};
  if (spec.mini_batch == 0) return error{errc::malformed, "job.mini_batch must be at least 1"};
  if (spec.mini_batch % spec.micro_batch != 0)
    return error{errc::malformed, "job.micro_batch: " + std::to_string(spec.micro_batch) +
                                      " does not divide a mini-batch of " +
                                      std::to_string(spec.mini_batch)};
  if (spec.slice > micro_batch_count(spec))
    return error{errc::malformed,
                 "job.slice: " + std::to_string(spec.slice) + " is more than the " +
                     std::to_string(micro_batch_count(spec)) + " micro-batches of a mini-batch"};
  return {};
}

/// Fills in what a model file says of itself.
result<void> complete_model(model_spec& model) {
  if (model.kind != model_kind::onnx) return {};
  const auto graph = read_model(model);
  if (!graph) return graph.why();
  const auto context =
      static_cast<std::uint32_t>(std::min<std::int64_t>(context_of(*graph), width_max));
  if (context != 0 && model.context != 0 && context != model.context)
    return error{errc::malformed, "model.context is " + std::to_string(model.context) + ", " +
                                      model.file + " reads " + std::to_string(context) +
                                      " tokens a sample"};
  if (context != 0) model.context = context;
  const auto content = content_of_model(model.file);
  if (!content) return content.why();
  model.content = *content;
  return {};
}

}  // namespace

result<specification> completed(const specification& spec) {
  specification whole = spec;
  if (auto ok = complete_model(whole.model); !ok) return ok.why();
  auto data = open_dataset(spec.data, whole.model.context);
  if (!data) return data.why();
  whole.data.content = (*data)->info().content;
  if (spec.initial_weights.empty()) return whole;
  auto content = content_of(spec.initial_weights);
  if (!content) return content.why();
  if (spec.initial_content != digest128{} && spec.initial_content != *content)
    return error{errc::malformed, spec.initial_weights + ": its content is " + text(*content) +
                                      ", the job names " + text(spec.initial_content)};
  whole.initial_content = *content;
  return whole;
}

result<model_profile> profile_of(const specification& spec) {
  if (auto ok = checked(spec); !ok) return ok.why();
  auto data = open_dataset(spec.data, spec.model.context);
  if (!data) return data.why();
  return profile_of(spec, (*data)->info());
}

result<model_profile> profile_of(const specification& spec, const dataset_info& data) {
  if (auto ok = checked(spec); !ok) return ok.why();
  enter_lane();
  auto model = build_model(spec.model, data, {spec.micro_batch, pass_kind::training, spec.isa});
  if (!model) return model.why();
  model_profile profile = blank_profile(spec, model->layers.size());
  const std::size_t moments = optimizer(spec.optimizer).moment_count();
  for (std::size_t i = 0; i < model->layers.size(); ++i) {
    const layer_graph& layer = model->layers[i];
    auto operators = build_operators(layer);
    if (!operators) return operators.why();
    const auto program =
        program_of(layer, *operators, i == 0 ? layer_role::first : layer_role::later);
    profile.layers[i] = profile_of(layer, layout_of(layer, moments), program, *operators);
  }
  return profile;
}

result<std::unique_ptr<executor>> executor_for(const specification& spec, const plan& what,
                                               peer_id self) {
  return executor_for(spec, what, self, executor_options{});
}

result<std::unique_ptr<executor>> executor_for(const specification& spec, const plan& what,
                                               peer_id self, const executor_options& options) {
  if (auto ok = checked(spec); !ok) return ok.why();
  if (auto capped = within_isa(spec.isa); !capped) return capped.why();
  auto built = stage_executor::built(spec, what, self, options);
  if (!built) return built.why();
  return std::unique_ptr<executor>(std::move(*built));
}

}  // namespace perigee::kernels
