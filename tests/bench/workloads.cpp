#include "tests/bench/workloads.hpp"

#include "kernels/executor_factory.hpp"
#include "proto/base/random.hpp"
#include "proto/digest.hpp"

#include <initializer_list>

namespace perigee::bench {

namespace {

constexpr std::uint64_t steps_without_end = 1'000'000;
constexpr std::uint32_t image_count = 320;
constexpr std::uint32_t validation_count = 64;
constexpr std::uint32_t side = 32;
constexpr std::uint32_t channels = 3;
constexpr std::uint32_t class_count = 10;

/// The head of an IDX file of bytes.
std::string idx_head(std::initializer_list<std::uint32_t> dimensions) {
  std::string head{'\0', '\0', '\x08', static_cast<char>(dimensions.size())};
  for (const std::uint32_t d : dimensions) {
    for (const unsigned shift : {24U, 16U, 8U, 0U}) head += static_cast<char>(d >> shift & 0xFFU);
  }
  return head;
}

/// `count` bytes below `bound`.
std::string drawn(std::size_t count, std::uint64_t bound, std::uint64_t stream) {
  random r(1, purpose::simulation, stream);
  std::string values(count, '\0');
  for (char& v : values) v = static_cast<char>(r.below(bound));
  return values;
}

result<workload> completed(std::string name, specification spec) {
  spec.steps = steps_without_end;
  auto whole = kernels::completed(spec);
  if (!whole) return whole.why();
  return workload{std::move(name), {id_of(*whole), *whole, {}}};
}

}  // namespace

result<workload> resnet18(const test::temporary_folder& folder) {
  constexpr std::size_t pixels = std::size_t{image_count} * side * side * channels;
  specification spec;
  spec.model.kind = model_kind::resnet;
  spec.model.stages = {2, 2, 2, 2};
  spec.model.width = 64;
  spec.data.kind = data_kind::idx;
  spec.data.path = folder.write(
      "images.idx", idx_head({image_count, side, side, channels}) + drawn(pixels, 256, 1));
  spec.data.labels_path =
      folder.write("labels.idx", idx_head({image_count}) + drawn(image_count, class_count, 2));
  spec.data.validation_count = validation_count;
  spec.data.scale = 1.0 / 255;
  spec.data.mean = 0.5;
  spec.data.deviation = 0.25;
  spec.optimizer.kind = optimizer_kind::sgd;
  spec.optimizer.learning_rate = 0.01;
  spec.optimizer.momentum = 0.9;
  spec.mini_batch = 32;
  spec.micro_batch = 8;
  return completed("ResNet-18 (32x32x3, batch 32 by 8)", std::move(spec));
}

result<workload> gpt384() {
  specification spec;
  spec.model.kind = model_kind::gpt;
  spec.model.blocks = 6;
  spec.model.width = 384;
  spec.model.heads = 6;
  spec.model.context = 256;
  spec.data.kind = data_kind::text;
  spec.data.path = "/usr/share/common-licenses/GPL-3";
  spec.data.validation_permille = 100;
  spec.optimizer.kind = optimizer_kind::adamw;
  spec.optimizer.learning_rate = 3e-4;
  spec.clip_norm = 1;
  spec.mini_batch = 4;
  spec.micro_batch = 1;
  return completed("GPT (d384, 6 blocks, T256, batch 4 by 1)", std::move(spec));
}

}  // namespace perigee::bench
