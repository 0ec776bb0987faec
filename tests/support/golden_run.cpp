#include "tests/support/golden_run.hpp"

#include "tests/support/fixed_dataset.hpp"
#include "tests/support/onnx_weights.hpp"

#include <nlohmann/json.hpp>

#include <cstring>
#include <fstream>

namespace perigee::test {

namespace {

using json = nlohmann::json;

error unsupported(const std::string& what) { return {errc::unsupported, what}; }

std::vector<std::int32_t> integers_of(const kernels::named_tensor& t) {
  std::vector<std::int64_t> wide(t.data.size() / 8);
  std::memcpy(wide.data(), t.data.data(), t.data.size());
  return {wide.begin(), wide.end()};
}

// --- the model, told from its weights
// -------------------------------------------------------------

result<model_spec> mlp_of(const kernels::tensor_file& weights) {
  model_spec m;
  for (int i = 1; weights.find("fc" + std::to_string(i + 1) + ".weight") != nullptr; ++i) {
    const auto* t = weights.find("fc" + std::to_string(i) + ".weight");
    m.hidden.push_back(static_cast<std::uint32_t>(t->shape[0]));
  }
  return m;
}

result<model_spec> resnet_of(const kernels::tensor_file& weights) {
  model_spec m;
  m.kind = model_kind::resnet;
  m.width = static_cast<std::uint32_t>(weights.find("stem.0.weight")->shape[0]);
  m.stages = {0};
  std::int64_t width = m.width;
  for (int i = 0;; ++i) {
    const auto* t = weights.find("layers." + std::to_string(i) + ".conv1.weight");
    if (t == nullptr) return m;
    if (t->shape[0] != width) m.stages.push_back(0);
    width = t->shape[0];
    ++m.stages.back();
  }
}

result<model_spec> gpt_of(const kernels::tensor_file& weights, std::int64_t heads) {
  if (heads == 0) return unsupported("gpt whose graph does not tell its heads");
  model_spec m;
  m.kind = model_kind::gpt;
  m.width = static_cast<std::uint32_t>(weights.find("wte.weight")->shape[1]);
  m.context = static_cast<std::uint32_t>(weights.find("wpe.weight")->shape[0]);
  m.heads = static_cast<std::uint32_t>(heads);
  while (weights.find("blocks." + std::to_string(m.blocks) + ".ln_1.weight") != nullptr) ++m.blocks;
  return m;
}

result<model_spec> model_of(const kernels::tensor_file& weights, std::int64_t heads) {
  if (weights.find("fc1.weight") != nullptr) return mlp_of(weights);
  if (weights.find("stem.0.weight") != nullptr) return resnet_of(weights);
  if (weights.find("wte.weight") != nullptr) return gpt_of(weights, heads);
  return unsupported("model of no kind that we build");
}

/// Returns the width of the last layer: classes or vocabulary.
std::int64_t classes_of(const kernels::tensor_file& weights, const model_spec& m) {
  if (m.kind == model_kind::gpt) return weights.find("lm_head.weight")->shape[0];
  if (m.kind == model_kind::resnet) return weights.find("head.weight")->shape[0];
  return weights.find("fc" + std::to_string(m.hidden.size() + 1) + ".weight")->shape[0];
}

// --- what was done with it
// ------------------------------------------------------------------------

result<void> read_optimizer(const json& from, optimizer_spec& to) {
  for (const auto& [key, value] : from.items()) {
    if (key == "kind") {
      if (value == "sgd")
        to.kind = optimizer_kind::sgd;
      else if (value == "adam")
        to.kind = optimizer_kind::adam;
      else if (value == "adamw")
        to.kind = optimizer_kind::adamw;
      else
        return unsupported("optimizer " + value.dump());
    } else if (key == "lr")
      to.learning_rate = value;
    else if (key == "momentum")
      to.momentum = value;
    else if (key == "nesterov")
      to.nesterov = value;
    else if (key == "weight_decay")
      to.weight_decay = value;
    else if (key == "beta1")
      to.beta1 = value;
    else if (key == "beta2")
      to.beta2 = value;
    else if (key == "epsilon")
      to.epsilon = value;
    else
      return unsupported("optimizer field " + key);
  }
  return {};
}

result<void> read_run(const std::string& path, golden_run& run, std::uint32_t batch) {
  std::ifstream file(path);
  const json j = json::parse(file, nullptr, false);
  if (j.is_discarded()) return error{errc::malformed, path + ": not JSON"};
  if (j.at("loss") != "cross_entropy_mean") return unsupported("loss " + j.at("loss").dump());
  if (auto ok = read_optimizer(j.at("optimizer"), run.spec.optimizer); !ok) return ok;
  const std::uint32_t micro_batches = j.at("micro_batches");
  if (batch % micro_batches != 0) return unsupported("micro-batches of unequal sizes");
  run.spec.mini_batch = batch;
  run.spec.micro_batch = batch / micro_batches;
  if (!j.at("clip_norm").is_null()) run.spec.clip_norm = j.at("clip_norm");
  run.losses = j.at("losses").get<std::vector<double>>();
  run.norms = j.at("grad_norms").get<std::vector<double>>();
  run.spec.steps = run.losses.size();
  return {};
}

result<std::shared_ptr<const kernels::dataset>> data_of(const kernels::tensor_file& file,
                                                        std::int64_t classes) {
  const auto* inputs = file.find("inputs");
  const auto* targets = file.find("targets");
  if (inputs == nullptr || targets == nullptr || targets->type != kernels::dtype::i64)
    return unsupported("data without inputs and whole targets");
  kernels::dataset_info info;
  info.classes = classes;
  if (inputs->type == kernels::dtype::i64 && inputs->shape.size() == 3) {
    info.kind = kernels::sample_kind::tokens;
    info.T = inputs->shape[2];
    return std::shared_ptr<const kernels::dataset>(
        std::make_shared<fixed_dataset>(info, integers_of(*inputs), integers_of(*targets)));
  }
  if (inputs->type != kernels::dtype::f32 || inputs->shape.size() != 5)
    return unsupported("inputs that are neither tokens nor images");
  info.C = inputs->shape[2], info.H = inputs->shape[3], info.W = inputs->shape[4];
  const auto planes = floats_of(*inputs);  // [steps, batch, C, H, W]
  std::vector<float> pixels(planes.size());
  const auto C = static_cast<std::size_t>(info.C);
  const auto area = static_cast<std::size_t>(info.H * info.W);
  for (std::size_t i = 0; i < planes.size(); ++i) {
    const std::size_t image = i / (C * area), c = i / area % C, at = i % area;
    pixels[image * C * area + at * C + c] = planes[i];
  }
  return std::shared_ptr<const kernels::dataset>(
      std::make_shared<fixed_dataset>(info, std::move(pixels), integers_of(*targets)));
}

}  // namespace

std::vector<float> floats_of(const kernels::named_tensor& t) {
  std::vector<float> values(t.data.size() / sizeof(float));
  std::memcpy(values.data(), t.data.data(), t.data.size());
  return values;
}

result<golden_run> read_golden_run(const std::string& folder) {
  golden_run run;
  auto final = kernels::read_safetensors(folder + "/final.safetensors");
  if (!final) return final.why();
  auto onnx = read_onnx(folder + "/model.onnx");
  if (!onnx) return onnx.why();
  auto data = kernels::read_safetensors(folder + "/data.safetensors");
  if (!data) return data.why();
  auto model = model_of(*final, onnx->heads);
  if (!model) return model.why();
  run.spec.model = *model;
  auto set = data_of(*data, classes_of(*final, *model));
  if (!set) return set.why();
  const auto batch = static_cast<std::uint32_t>(data->find("inputs")->shape[1]);
  if (auto ok = read_run(folder + "/run.json", run, batch); !ok) return ok.why();
  run.data = *set;
  run.initial = std::move(onnx->weights);
  run.final = std::move(*final);
  return run;
}

}  // namespace perigee::test
