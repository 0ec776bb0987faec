#include "kernels/model/onnx/patterns.hpp"

#include <algorithm>
#include <optional>

namespace perigee::kernels {

namespace {

/// Looks at the flow from one value backwards.
class looking {
public:
  explicit looking(const flow& f) : flow_(f) {}

  /// Returns the node of operator `op` that makes value `v`, or null.
  [[nodiscard]] const flow_node* made(std::uint32_t v, std::string_view op) const {
    const std::size_t i = flow_.producer(v);
    return i != no_node && flow_.nodes[i].op == op ? &flow_.nodes[i] : nullptr;
  }
  [[nodiscard]] std::optional<double> number(std::uint32_t v) const {
    const flow_value& value = flow_.values[v];
    if (value.kind != flow_kind::constant || value.known.values.size() != 1) return {};
    return value.known.values[0];
  }
  [[nodiscard]] bool mean_of_rows(const flow_node& n) const {
    const auto last = static_cast<std::int64_t>(flow_.values[n.in[0]].shape.size()) - 1;
    return n.how.numbers == extents{last};
  }

private:
  const flow& flow_;
};

struct normalised {
  std::uint32_t x = 0;
  double epsilon = 0;
};

/// Whether value `v` is `difference` squared.
bool is_square(const looking& at, std::uint32_t v, std::uint32_t difference) {
  if (const auto* power = at.made(v, "Pow"))
    return power->in[0] == difference && at.number(power->in[1]) == 2.0;
  const auto* product = at.made(v, "Mul");
  return product != nullptr && product->in == std::vector{difference, difference};
}

/// Reads (x - mean) / sqrt(variance + epsilon) backwards.
std::optional<normalised> normalised_by(const looking& at, const flow_node& division) {
  const auto* difference = at.made(division.in[0], "Sub");
  const auto* root = at.made(division.in[1], "Sqrt");
  if (difference == nullptr || root == nullptr) return {};
  const auto* mean = at.made(difference->in[1], "ReduceMean");
  const auto* sum = at.made(root->in[0], "Add");
  if (mean == nullptr || sum == nullptr) return {};
  const std::uint32_t x = difference->in[0];
  if (mean->in[0] != x || !at.mean_of_rows(*mean)) return {};
  const auto epsilon = at.number(sum->in[1]);
  const auto* variance = at.made(sum->in[0], "ReduceMean");
  if (!epsilon || variance == nullptr || !at.mean_of_rows(*variance)) return {};
  if (!is_square(at, variance->in[0], difference->out)) return {};
  return normalised{x, *epsilon};
}

/// Returns the other input of the only reader of `v`, if that is an `op` with a parameter of C
/// values.
std::optional<std::uint32_t> parameter_of(const flow& f, std::size_t user, std::string_view op,
                                          std::uint32_t v) {
  if (user == no_node || f.nodes[user].op != op) return {};
  const auto& in = f.nodes[user].in;
  const std::uint32_t other = in[0] == v ? in[1] : in[0];
  const bool fits = f.values[other].kind == flow_kind::parameter &&
                    f.values[other].shape == extents{f.values[v].shape.back()};
  return fits ? std::optional(other) : std::nullopt;
}

void add_bias(flow& f, std::size_t i) {
  const std::uint32_t product = f.nodes[i].out;
  const std::size_t user = f.only_user(product);
  if (user == no_node || f.nodes[user].op != "Add") return;
  const auto& in = f.nodes[user].in;
  const std::uint32_t other = in[0] == product ? in[1] : in[0];
  const flow_value& bias = f.values[other];
  const std::int64_t N = f.values[product].shape.back();
  const bool vector = bias.kind == flow_kind::parameter && !bias.shape.empty() &&
                      bias.shape.back() == N && capped_count(bias.shape) == N;
  if (!vector || f.values[f.nodes[user].out].shape != f.values[product].shape) return;
  f.nodes[user].op = "Linear";
  f.nodes[user].name = f.nodes[i].name;
  f.nodes[user].in = {f.nodes[i].in[0], f.nodes[i].in[1], other};
}

void add_positions(flow& f, std::size_t i) {
  const std::uint32_t rows = f.nodes[i].out;
  const std::size_t user = f.only_user(rows);
  if (user == no_node || f.nodes[user].op != "Add") return;
  const auto& in = f.nodes[user].in;
  const std::uint32_t other = in[0] == rows ? in[1] : in[0];
  const auto& shape = f.values[rows].shape;
  const flow_value& position = f.values[other];
  if (shape.size() != 3 || position.kind != flow_kind::parameter || position.transposed) return;
  const extents one{1, shape[1], shape[2]}, plain{shape[1], shape[2]};
  if (position.shape != one && position.shape != plain) return;
  f.nodes[user].op = "Embedding";
  f.nodes[user].name = f.nodes[i].name;
  f.nodes[user].in = {f.nodes[i].in[0], f.nodes[i].in[1], other};
}

}  // namespace

void find_layer_norms(flow& f) {
  for (std::size_t i = 0; i < f.nodes.size(); ++i) {
    if (f.nodes[i].op != "Div") continue;
    const auto found = normalised_by(looking(f), f.nodes[i]);
    if (!found) continue;
    const std::uint32_t quotient = f.nodes[i].out;
    const std::size_t product = f.only_user(quotient);
    const auto weight = parameter_of(f, product, "Mul", quotient);
    if (!weight) continue;
    const std::size_t sum = f.only_user(f.nodes[product].out);
    const auto bias = parameter_of(f, sum, "Add", f.nodes[product].out);
    if (!bias) continue;
    f.nodes[sum].op = "LayerNorm";
    f.nodes[sum].in = {found->x, *weight, *bias};
    f.nodes[sum].how.low = found->epsilon;
  }
  f.sweep();
}

void find_biases(flow& f) {
  for (std::size_t i = 0; i < f.nodes.size(); ++i) {
    if (f.nodes[i].op == "Linear" && f.nodes[i].in.size() == 2) add_bias(f, i);
    if (f.nodes[i].op == "Embedding" && f.nodes[i].in.size() == 2) add_positions(f, i);
  }
  f.sweep();
}

void drop_last_softmax(flow& f) {
  const std::size_t i = f.producer(f.output);
  if (i == no_node || (f.nodes[i].op != "Softmax" && f.nodes[i].op != "LogSoftmax")) return;
  const auto last = static_cast<std::int64_t>(f.values[f.output].shape.size()) - 1;
  if (f.nodes[i].how.numbers != extents{last}) return;
  f.output = f.nodes[i].in[0];
  f.sweep();
}

result<void> find_patterns(flow& f) {
  find_biases(f);
  find_layer_norms(f);
  find_activations(f);
  return find_attentions(f);
}

}  // namespace perigee::kernels
