#include "tests/support/small_models.hpp"

#include "proto/base/random.hpp"
#include "tests/support/fixed_dataset.hpp"
#include "tests/support/onnx_maker.hpp"

#include <fstream>

namespace perigee::test {

namespace {

constexpr std::uint64_t sample_count = 64;

std::vector<std::int32_t> drawn_classes(std::size_t count, std::int64_t classes) {
  random numbers(5, purpose::simulation, 1);
  std::vector<std::int32_t> all(count);
  for (std::int32_t& x : all)
    x = static_cast<std::int32_t>(numbers.below(static_cast<std::uint64_t>(classes)));
  return all;
}

std::shared_ptr<const kernels::dataset> images(std::int64_t C, std::int64_t H) {
  kernels::dataset_info info;
  info.C = C, info.H = H, info.W = H, info.classes = 5;
  random numbers(5, purpose::simulation, 2);
  std::vector<float> pixels(sample_count * static_cast<std::size_t>(C * H * H));
  for (float& x : pixels) x = numbers.normal();
  return std::make_shared<fixed_dataset>(info, std::move(pixels), drawn_classes(sample_count, 5));
}

std::shared_ptr<const kernels::dataset> tokens(std::int64_t T) {
  kernels::dataset_info info;
  info.kind = kernels::sample_kind::tokens;
  info.T = T, info.classes = 11;
  const std::size_t count = sample_count * static_cast<std::size_t>(T);
  auto in = drawn_classes(count + 1, info.classes);
  std::vector<std::int32_t> out(in.begin() + 1, in.end());
  in.pop_back();
  out[3] = kernels::not_counted;
  return std::make_shared<fixed_dataset>(info, std::move(in), std::move(out));
}

}  // namespace

namespace {

/// A convolution and ReLU, named after its weight; its output is `name`.
void add_convolution(onnx_maker& m, const std::string& in, const std::string& name,
                     std::int64_t from, std::int64_t to) {
  m.weight(name + ".weight", {to, from, 3, 3});
  m.with("pads", std::vector<std::int64_t>{1, 1, 1, 1});
  m.node("Conv", {in, name + ".weight"}, name + ".sum").node("Relu", {name + ".sum"}, name);
}

onnx_maker nested_skips() {
  onnx_maker m;
  m.input("x", {-1, 2, 6, 6});
  add_convolution(m, "x", "top", 2, 3);
  add_convolution(m, "top", "down", 3, 4);
  add_convolution(m, "down", "deep", 4, 5);
  add_convolution(m, "deep", "low", 5, 5);
  add_convolution(m, "low", "mid", 5, 5);
  add_convolution(m, "mid", "rise", 5, 4);
  m.with("axis", std::int64_t{1}).node("Concat", {"rise", "down"}, "joined");
  add_convolution(m, "joined", "up", 8, 3);
  add_convolution(m, "up", "high", 3, 3);
  m.node("Add", {"high", "top"}, "sum");
  add_convolution(m, "sum", "last", 3, 4);
  m.node("GlobalAveragePool", {"last"}, "pooled").node("Flatten", {"pooled"}, "flat");
  m.weight("head.weight", {5, 4}).weight("head.bias", {5}).with("transB", std::int64_t{1});
  m.node("Gemm", {"flat", "head.weight", "head.bias"}, "logits").output("logits");
  return m;
}

}  // namespace

small_job small_skips(const std::string& path) {
  small_job job;
  std::ofstream(path, std::ios::binary) << nested_skips().file();
  job.spec.model.kind = model_kind::onnx;
  job.spec.model.file = path;
  job.spec.mini_batch = 21, job.spec.micro_batch = 3, job.spec.slice = 2;
  job.spec.optimizer.momentum = 0.9;
  job.data = images(2, 6);
  job.layers = 7;
  return job;
}

small_job small_mlp() {
  small_job job;
  job.spec.model.hidden = {12, 10, 9, 8, 7};
  job.spec.mini_batch = 21, job.spec.micro_batch = 3, job.spec.slice = 2;
  job.spec.optimizer.kind = optimizer_kind::adam;
  job.data = images(2, 4);
  job.layers = 6;
  return job;
}

small_job small_resnet() {
  small_job job;
  job.spec.model.kind = model_kind::resnet;
  job.spec.model.stages = {1, 2};
  job.spec.model.width = 8;
  job.spec.mini_batch = 12, job.spec.micro_batch = 3;
  job.spec.optimizer.momentum = 0.9;
  job.data = images(1, 8);
  job.layers = 5;
  return job;
}

small_job small_gpt() {
  small_job job;
  model_spec& m = job.spec.model;
  m.kind = model_kind::gpt;
  m.width = 16, m.blocks = 2, m.heads = 2, m.context = 8, m.dropout = 0.1;
  job.spec.mini_batch = 12, job.spec.micro_batch = 2, job.spec.slice = 2;
  job.spec.optimizer.kind = optimizer_kind::adamw;
  job.spec.optimizer.weight_decay = 0.1;
  job.spec.clip_norm = 0.5;
  job.data = tokens(m.context);
  job.layers = 6;
  return job;
}

}  // namespace perigee::test
