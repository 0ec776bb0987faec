#include "actors/cli/job_fields.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace perigee::actors {

namespace {

constexpr std::uint64_t batch_max = 1U << 20U;
constexpr std::uint64_t samples_max = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t width_max = 1U << 16U;
constexpr std::size_t name_max = 256;
constexpr std::size_t path_max = 4096;
constexpr std::size_t layers_max = 1024;
constexpr std::size_t peers_max = 4096;

// `at` is a lambda that returns a reference into a job_file of either constness.

whole whole_at(std::uint64_t low, std::uint64_t high, auto at) {
  const auto set = [at](job_file& j, std::uint64_t value) {
    auto& target = at(j);
    target = static_cast<std::remove_reference_t<decltype(target)>>(value);
  };
  return {low, high, set, [at](const job_file& j) { return std::uint64_t{at(j)}; }};
}

whole count_at(std::uint64_t low, auto at) {
  return whole_at(low, std::numeric_limits<std::int64_t>::max(), at);
}

struct interval {
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;
  bool high_open = false;
};
constexpr interval any{.low = -std::numeric_limits<double>::infinity()};
constexpr interval from_zero{};
constexpr interval above_zero{.low_open = true};
constexpr interval below_one{.high = 1, .high_open = true};
constexpr interval up_to_one{.high = 1};

real real_at(const interval& range, auto at) {
  return {range.low,
          range.high,
          range.low_open,
          range.high_open,
          [at](job_file& j, double value) { at(j) = value; },
          [at](const job_file& j) { return at(j); }};
}

/// A share of one, in thousandths. Other shares are refused by the file's checks.
real permille_at(auto at) {
  return {0,
          1,
          false,
          true,
          [at](job_file& j, double value) {
            at(j) = static_cast<std::uint32_t>(std::lround(value * 1000));
          },
          [at](const job_file& j) { return at(j) / 1000.0; }};
}

/// `names` in the order of the enumeration.
choice choice_at(std::vector<std::string> names, auto at) {
  return {names,
          [at](job_file& j, std::size_t index) {
            auto& target = at(j);
            target = static_cast<std::remove_reference_t<decltype(target)>>(index);
          },
          [at, names](const job_file& j) { return names[static_cast<std::size_t>(at(j))]; }};
}

choice isa_choice() {
  const std::vector<std::string> names = {"sse41", "avx", "avx2", "avx512_core"};
  return {names, [names](job_file& j, std::size_t index) { j.spec.isa = names[index]; },
          [](const job_file& j) { return j.spec.isa; }};
}

#define AT(PATH) \
  [](auto& j) -> auto& { return j.PATH; }

/// The table under construction: `section` holds for the fields that follow.
struct table {
  std::string section;
  std::vector<field> all;

  void required(std::string name, field_kind kind, std::string about, std::string example,
                std::vector<std::string> for_kinds = {}) {
    all.push_back({section, std::move(name), need::required, std::move(kind), std::move(about),
                   std::move(example), std::move(for_kinds)});
  }
  void optional(std::string name, field_kind kind, std::string about, std::string example,
                std::vector<std::string> for_kinds = {}) {
    all.push_back({section, std::move(name), need::optional, std::move(kind), std::move(about),
                   std::move(example), std::move(for_kinds)});
  }
};

void add_top(table& t) {
  t.optional("name", words{name_max, false, AT(wanted.name)},
             "what people call the job; the weights do not depend on it", "\"first light\"");
  t.optional("seed", count_at(0, AT(spec.seed)),
             "of everything random: weights, data order, dropout", "1");
  t.required("steps", count_at(1, AT(spec.steps)),
             "optimizer updates; may be raised later unless the rate is a cosine", "300");
  t.required("mini_batch", whole_at(1, batch_max, AT(spec.mini_batch)), "samples a step", "16");
  t.required("micro_batch", whole_at(1, batch_max, AT(spec.micro_batch)),
             "samples that go through a layer together; divides mini_batch", "2");
  t.optional(
      "slice", whole_at(0, batch_max, AT(spec.slice)),
      "micro-batches a replica or worker takes at once; 0 = so many that at most four slices "
      "are made",
      "2");
  t.optional("clip_norm", real_at(from_zero, AT(spec.clip_norm)),
             "bound of the gradient's global norm; 0 = none", "1.0");
  t.optional("isa", isa_choice(),
             "cap of the instruction set, for the same bits on a mixed fleet; without it each "
             "peer's own",
             "\"avx2\"");
  t.optional("run", words{name_max, false, AT(spec.run)},
             "makes another job of the same specification", "\"second\"");
  t.optional("initial_weights", words{path_max, true, AT(spec.initial_weights)},
             "safetensors file to start from; without it weights are drawn from the seed",
             "\"weights.safetensors\"");
}

void add_model(table& t) {
  t.section = "model";
  t.required(
      "kind", choice_at({"mlp", "resnet", "gpt", "onnx"}, AT(spec.model.kind)),
      "perceptron, residual network with batch norm, character-level transformer, or a model "
      "of your own; not needed where onnx is set",
      "\"gpt\"");
  t.required("onnx", words{path_max, true, AT(spec.model.file)},
             "the model's file, as PyTorch exports it in training mode; its weights are the first "
             "ones unless initial_weights is set",
             "\"model.onnx\"", {"onnx"});
  t.all.back().tells_kind = true;
  t.required("hidden", counts{width_max, 0, layers_max, false, AT(spec.model.hidden)},
             "width of each hidden layer", "[64, 64]", {"mlp"});
  t.required("stages", counts{layers_max, 1, layers_max, false, AT(spec.model.stages)},
             "residual blocks at each resolution; width doubles from one to the next", "[2, 2, 2]",
             {"resnet"});
  t.required("width", whole_at(1, width_max, AT(spec.model.width)),
             "channels at the first resolution, or width of the transformer", "128",
             {"resnet", "gpt"});
  t.required("blocks", whole_at(1, layers_max, AT(spec.model.blocks)), "transformer blocks", "4",
             {"gpt"});
  t.required("heads", whole_at(1, width_max, AT(spec.model.heads)), "attention heads; divide width",
             "4", {"gpt"});
  t.required("context", whole_at(1, width_max, AT(spec.model.context)),
             "characters a sample; of onnx only where the file leaves them open", "64",
             {"gpt", "onnx"});
  t.all.back().optional_for = {"onnx"};
  t.optional("dropout", real_at(below_one, AT(spec.model.dropout)),
             "probability that an activation is dropped", "0.1", {"gpt"});
}

void add_data(table& t) {
  const std::vector<std::string> pictures{"idx", "csv", "npy", "cifar10", "cifar100"};
  t.section = "data";
  t.required(
      "kind", choice_at({"text", "idx", "csv", "npy", "cifar10", "cifar100"}, AT(spec.data.kind)),
      "characters of a text, MNIST's IDX files, CSV with the label last, two NumPy arrays, or "
      "CIFAR's binary version",
      "\"text\"");
  t.required("path", words{path_max, true, AT(spec.data.path)},
             "the text, the IDX images, the NumPy samples [N,F], [N,H,W] or [N,H,W,C], the CSV or "
             "CIFAR file; plain or .gz",
             "\"input.txt\"");
  t.required("labels", words{path_max, true, AT(spec.data.labels_path)},
             "the IDX labels, or NumPy's [N]; plain or .gz", "\"labels-idx1-ubyte.gz\"",
             {"idx", "npy"});
  t.optional("validation_count", whole_at(0, samples_max, AT(spec.data.validation_count)),
             "the last samples, kept for validation", "2000", pictures);
  t.optional("validation", permille_at(AT(spec.data.validation_permille)),
             "share of the text, at its end, kept for validation; in steps of 0.001", "0.1",
             {"text"});
  t.optional("scale", real_at(any, AT(spec.data.scale)),
             "a raw value x becomes (x * scale - mean) / deviation", "0.0625", pictures);
  t.optional("mean", real_at(any, AT(spec.data.mean)), "see scale", "0.1307", pictures);
  t.optional("deviation", real_at(above_zero, AT(spec.data.deviation)), "see scale", "0.3081",
             pictures);
}

void add_optimizer(table& t) {
  t.section = "optimizer";
  t.optional("kind", choice_at({"sgd", "adam", "adamw"}, AT(spec.optimizer.kind)),
             "how gradients become updates", "\"adamw\"");
  t.optional("learning_rate", real_at(above_zero, AT(spec.optimizer.learning_rate)),
             "see [rate] for how it changes", "0.001");
  t.optional("momentum", real_at(below_one, AT(spec.optimizer.momentum)),
             "share of the last update that is kept", "0.9", {"sgd"});
  t.optional("nesterov", flag{AT(spec.optimizer.nesterov)}, "look ahead along the momentum", "true",
             {"sgd"});
  t.optional("weight_decay", real_at(from_zero, AT(spec.optimizer.weight_decay)),
             "pull towards zero: added to the gradient, of adamw decoupled from it", "0.1");
  t.optional("beta1", real_at(below_one, AT(spec.optimizer.beta1)),
             "memory of the mean of gradients", "0.9", {"adam", "adamw"});
  t.optional("beta2", real_at(below_one, AT(spec.optimizer.beta2)),
             "memory of the mean of their squares", "0.999", {"adam", "adamw"});
  t.optional("epsilon", real_at(above_zero, AT(spec.optimizer.epsilon)),
             "added to the root of that mean", "1e-8", {"adam", "adamw"});
}

void add_rate(table& t) {
  t.section = "rate";
  t.optional("kind", choice_at({"constant", "cosine"}, AT(spec.rate.kind)),
             "how the learning rate goes on after the warm-up", "\"cosine\"");
  t.optional("warmup_steps", count_at(0, AT(spec.rate.warmup_steps)), "steps of linear rise", "20");
  t.optional("floor", real_at(up_to_one, AT(spec.rate.floor)),
             "fraction of the learning rate that is left at the last step", "0.1", {"cosine"});
}

void add_plan(table& t) {
  t.section = "plan";
  t.optional("stages", whole_at(0, layers_max, AT(wanted.stages)),
             "runs of layers that the model is cut into; 0 = the planner chooses", "4");
  t.optional("replicas", counts{peers_max, 0, layers_max, true, AT(wanted.replicas)},
             "peers of each stage; one number = for all; none = the planner chooses", "[2, 1]");
  t.optional("shares", counts{batch_max, 0, peers_max, false, AT(wanted.shares)},
             "slices of each peer, stage by stage; none = even", "[3, 1, 4]");
  t.optional("order", peers{peers_max, AT(wanted.order)},
             "ids of peers in the order in which stages take them; none = by id",
             "[\"p2\", \"p1\"]");
  t.optional("schedule", choice_at({"gpipe", "1f1b"}, AT(wanted.schedule)),
             "order of forward and backward passes; the weights do not depend on it", "\"1f1b\"");
}

#undef AT

std::string text_of(double value) { return fmt::format("{}", value); }

struct ranger {
  std::string operator()(const whole& k) const {
    const auto least = fmt::format("a whole number from {}", k.low);
    const bool bounded = k.high < whole{}.high;
    return bounded ? fmt::format("{} to {}", least, k.high) : least;
  }
  std::string operator()(const real& k) const {
    std::string line = "a finite number";
    if (std::isfinite(k.low))
      line = fmt::format("a number {} {}", k.low_open ? "above" : "from", text_of(k.low));
    if (std::isfinite(k.high))
      line += fmt::format(" {} {}", k.high_open ? "to below" : "to", text_of(k.high));
    return line;
  }
  std::string operator()(const flag&) const { return "true or false"; }
  std::string operator()(const words& k) const {
    return k.path ? "a path" : fmt::format("a text of at most {} letters", k.letters_max);
  }
  std::string operator()(const choice& k) const {
    const auto last = k.names.end() - 1;
    return fmt::format("\"{}\" or \"{}\"", fmt::join(k.names.begin(), last, "\", \""), *last);
  }
  std::string operator()(const counts& k) const {
    const auto each = fmt::format("from 1 to {}", k.high);
    return k.single ? fmt::format("a whole number {}, or a list of them", each)
                    : fmt::format("a list of whole numbers {}", each);
  }
  std::string operator()(const peers&) const { return "a list of peers by id, as \"p2\" or 2"; }
};

}  // namespace

const std::vector<field>& job_fields() {
  static const auto all = [] {
    table t;
    add_top(t);
    add_model(t);
    add_data(t);
    add_optimizer(t);
    add_rate(t);
    add_plan(t);
    return t.all;
  }();
  return all;
}

std::string range_text(const field& f) { return std::visit(ranger{}, f.kind); }

std::string name_text(const field& f) {
  return f.section.empty() ? fmt::format("'{}'", f.name)
                           : fmt::format("'{}' in [{}]", f.name, f.section);
}

std::string kind_in(const std::string& section, const job_file& job) {
  for (const field& f : job_fields())
    if (f.section == section && f.name == "kind") return std::get<choice>(f.kind).get(job);
  return {};
}

bool is_used(const field& f, const job_file& job) {
  const auto& kinds = f.for_kinds;
  return kinds.empty() ||
         std::find(kinds.begin(), kinds.end(), kind_in(f.section, job)) != kinds.end();
}

}  // namespace perigee::actors
