#include "kernels/model/onnx/patterns.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace perigee::kernels {

namespace {

using kind = activation_kind;

/// What each activation is, in f64.
double activation(kind k, double x) {
  switch (k) {
    case kind::relu:
      return std::max(x, 0.0);
    case kind::relu6:
      return std::clamp(x, 0.0, 6.0);
    case kind::gelu_erf:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case kind::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case kind::sigmoid:
      return 1 / (1 + std::exp(-x));
    case kind::silu:
      return x / (1 + std::exp(-x));
    case kind::tanh:
      return std::tanh(x);
    case kind::hardswish:
      return x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
  }
  return 0;
}

constexpr kind kinds[] = {kind::relu,    kind::relu6, kind::gelu_erf, kind::gelu_tanh,
                          kind::sigmoid, kind::silu,  kind::tanh,     kind::hardswish};

constexpr double samples[] = {-9.3, -7.1, -6.2, -5.9, -4.4, -3.3, -2.7, -2.9, -1.9, -1.3, -0.9,
                              -0.6, -0.3, -0.1, 0.05, 0.2,  0.45, 0.7,  1.1,  1.6,  2.1,  2.6,
                              2.9,  3.1,  3.7,  4.6,  5.2,  5.9,  6.1,  6.8,  7.7,  9.1};

/// Constants are exported in f32, so that a relative error of some 1e-7 is theirs; the nearest two
/// activations, both GELUs, differ by 4e-4.
constexpr double tolerance = 3e-6;

constexpr std::size_t group_max = 16;  // values of one group

class group {
public:
  explicit group(const flow& f) : flow_(f) {
    for (std::size_t i = 0; i < f.nodes.size(); ++i) producers_[f.nodes[i].out] = i;
  }

  /// Returns the values that node `last` is computed from through element-wise operators, the
  /// nearest first.
  [[nodiscard]] std::vector<std::uint32_t> roots(std::size_t last) const {
    std::vector<std::uint32_t> found;
    for (const std::uint32_t v : flow_.nodes[last].in) note(found, v);
    for (std::size_t i = 0; i < found.size() && found.size() < group_max; ++i) {
      const auto made = producers_.find(found[i]);
      if (made == producers_.end() || !elementwise(flow_.nodes[made->second])) continue;
      for (const std::uint32_t v : flow_.nodes[made->second].in) note(found, v);
    }
    return found;
  }

  /// Returns the activation that value `v` is of value `root`, if it is one.
  [[nodiscard]] std::optional<kind> activation_of(std::uint32_t v, std::uint32_t root) const {
    for (const kind k : kinds) {
      const bool same = std::all_of(std::begin(samples), std::end(samples), [&](double x) {
        const auto y = value_at(v, root, x, 0);
        const double want = activation(k, x);
        return y && std::abs(*y - want) <= tolerance * (1 + std::abs(want));
      });
      if (same) return k;
    }
    return {};
  }

  [[nodiscard]] bool elementwise(const flow_node& n) const {
    if (n.op == "Activation") return true;
    if (n.in.size() == 2) return binary(n.op, 1, 1).has_value();
    return n.in.size() == 1 && unary(n.op, 1, 0, 1).has_value();
  }

private:
  void note(std::vector<std::uint32_t>& found, std::uint32_t v) const {
    if (flow_.values[v].kind == flow_kind::data &&
        std::find(found.begin(), found.end(), v) == found.end())
      found.push_back(v);
  }

  [[nodiscard]] std::optional<double> value_at(std::uint32_t v, std::uint32_t root, double x,
                                               std::size_t depth) const {
    if (v == root) return x;
    const flow_value& value = flow_.values[v];
    if (value.kind == flow_kind::constant && value.known.values.size() == 1)
      return value.known.values[0];
    const auto made = producers_.find(v);
    if (made == producers_.end() || depth == group_max) return {};
    const flow_node& n = flow_.nodes[made->second];
    if (!elementwise(n)) return {};
    const auto a = value_at(n.in[0], root, x, depth + 1);
    if (!a) return {};
    if (n.op == "Activation") return activation(n.how.kind, *a);
    if (n.in.size() == 1) return unary(n.op, *a, n.how.low, n.how.high);
    const auto b = value_at(n.in[1], root, x, depth + 1);
    return b ? binary(n.op, *a, *b) : std::nullopt;
  }

  const flow& flow_;
  std::map<std::uint32_t, std::size_t> producers_;
};

}  // namespace

void find_activations(flow& f) {
  for (std::size_t i = 0; i < f.nodes.size(); ++i) {
    const group near(f);
    if (!near.elementwise(f.nodes[i]) || f.nodes[i].op == "Activation") continue;
    const auto roots = near.roots(i);
    for (std::size_t r = roots.size(); r-- > 0;) {  // the farthest makes the largest group
      const std::uint32_t out = f.nodes[i].out;
      if (f.values[roots[r]].shape != f.values[out].shape) continue;
      const auto found = near.activation_of(out, roots[r]);
      if (!found) continue;
      f.nodes[i].op = "Activation";
      f.nodes[i].in = {roots[r]};
      f.nodes[i].how = {};
      f.nodes[i].how.kind = *found;
      break;
    }
  }
  f.sweep();
}

}  // namespace perigee::kernels
