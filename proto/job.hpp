// What a job is: the specification that alone fixes the weights, and the wishes that do not.
//
// Guarantees  `specification` holds everything the weights depend on; two equal ones give the same
//             bits. Its digest is the job's identity (proto/digest.hpp). `wishes` never enter it.
#pragma once

#include "proto/base/id.hpp"
#include "proto/base/units.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace perigee {

enum class model_kind : std::uint8_t { mlp, resnet, gpt, onnx };

/// A model of the list, or one brought as a file; fields that its kind does not use stay at their
/// defaults.
struct model_spec {
  model_kind kind = model_kind::mlp;
  std::vector<std::uint32_t> hidden;  // mlp: width of each hidden layer
  std::vector<std::uint32_t> stages;  // resnet: residual blocks at each resolution
  std::uint32_t width = 0;            // resnet: channels of the first resolution; gpt: width
  std::uint32_t blocks = 0;           // gpt
  std::uint32_t heads = 0;            // gpt
  std::uint32_t context = 0;          // gpt, onnx: tokens a sample; onnx: 0 = as in the file
  double dropout = 0;                 // gpt: probability that an activation is dropped
  std::string file{};                 // onnx: path of the model; outside the digest
  digest128 content{};                // onnx: of that file's bytes; all zero until they are read
  friend bool operator==(const model_spec&, const model_spec&) = default;
};

enum class data_kind : std::uint8_t { text, idx, csv, npy, cifar10, cifar100 };

/// Where samples come from. Paths say where this submitter finds them; the digest says what they
/// must be.
struct data_spec {
  data_kind kind = data_kind::text;
  std::string path;         // one file, plain or .gz; idx, npy: the images. Outside the digest
  std::string labels_path;  // idx, npy: the labels; outside the digest
  digest128 content;        // of the unzipped bytes (images, labels); all zero until they are read
  std::uint32_t validation_count = 0;     // all but text: the last samples, kept for validation
  std::uint32_t validation_permille = 0;  // text: share of the characters, at the end, kept for it
  double scale = 1;                       // a raw value x becomes (x * scale - mean) / deviation
  double mean = 0;
  double deviation = 1;
  friend bool operator==(const data_spec&, const data_spec&) = default;
};

enum class optimizer_kind : std::uint8_t { sgd, adam, adamw };

struct optimizer_spec {
  optimizer_kind kind = optimizer_kind::sgd;
  double learning_rate = 0.01;
  double momentum = 0;      // sgd
  bool nesterov = false;    // sgd
  double weight_decay = 0;  // sgd, adam: added to the gradient; adamw: decoupled
  double beta1 = 0.9;       // adam, adamw
  double beta2 = 0.999;
  double epsilon = 1e-8;
  friend bool operator==(const optimizer_spec&, const optimizer_spec&) = default;
};

enum class rate_kind : std::uint8_t { constant, cosine };

/// The learning rate over steps: linear warm-up, then constant or a half cosine down to `floor`
/// times the rate.
struct rate_spec {
  rate_kind kind = rate_kind::constant;
  std::uint64_t warmup_steps = 0;
  double floor = 0;  // cosine: fraction of the learning rate left at the last step
  friend bool operator==(const rate_spec&, const rate_spec&) = default;
};

struct specification {
  model_spec model;
  data_spec data;
  optimizer_spec optimizer;
  rate_spec rate;
  std::uint64_t seed = 1;
  std::uint64_t steps = 0;  // may be raised later, so outside the digest unless `rate` is a cosine
  std::uint32_t mini_batch = 0;   // samples a step
  std::uint32_t micro_batch = 0;  // samples; divides the mini-batch
  std::uint32_t slice = 0;        // micro-batches a slice; 0 = the default of `slice_size`
  double clip_norm = 0;           // 0 = no clipping
  std::string isa;              // instruction-set cap, e.g. "avx2"; empty = whatever each peer has
  std::string initial_weights;  // path of a safetensors file; outside the digest
  digest128 initial_content;    // its bytes' digest; all zero = drawn from the seed
  std::string run;              // makes another job of the same specification
  friend bool operator==(const specification&, const specification&) = default;
};

enum class schedule_kind : std::uint8_t { gpipe, one_f_one_b };

[[nodiscard]] constexpr std::string_view text(schedule_kind kind) noexcept {
  return kind == schedule_kind::gpipe ? "gpipe" : "1f1b";
}

/// What the submitter wants of the plan; the answer does not depend on it. Zero or empty = the
/// planner chooses.
struct wishes {
  std::string name;  // for people
  std::uint32_t stages = 0;
  std::vector<std::uint32_t> replicas;  // for each stage; one number = for all
  std::vector<std::uint32_t> shares;    // slices for each member, in group order; empty = even
  std::vector<peer_id> order;  // peers in the order in which stages take them; empty = by id
  schedule_kind schedule = schedule_kind::one_f_one_b;
  friend bool operator==(const wishes&, const wishes&) = default;
};

[[nodiscard]] constexpr std::uint32_t micro_batch_count(const specification& s) noexcept {
  return s.micro_batch == 0 ? 0 : s.mini_batch / s.micro_batch;
}

/// Returns the micro-batches of one slice: as asked, else the least size that makes at most four
/// slices.
[[nodiscard]] constexpr std::uint32_t slice_size(const specification& s) noexcept {
  return s.slice != 0 ? s.slice : (micro_batch_count(s) + 3) / 4;
}

/// Returns how many slices a mini-batch has; the last one may be shorter.
[[nodiscard]] constexpr std::uint32_t slice_count(const specification& s) noexcept {
  const std::uint32_t size = slice_size(s);
  return size == 0 ? 0 : (micro_batch_count(s) + size - 1) / size;
}

}  // namespace perigee
