#include "kernels/model/onnx/patterns.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace perigee::kernels {

namespace {

constexpr double masked_below = -1e4;  // what exporters add to a score that must not count

/// What the scores of one attention are made of.
struct scores {
  std::uint32_t q = 0, k_transposed = 0;
  double scale = 1;
  const constant* mask = nullptr;  // null = everything counts
  bool additive = false;           // the mask is added; else it is 1 where `mask_counts`
  bool mask_counts = true;
};

class attention_finder {
public:
  explicit attention_finder(flow& f) : flow_(f) {}

  /// Rewrites the attention whose softmax is node `i`; leaves the flow alone if it is none.
  result<void> rewrite(std::size_t i) {
    const flow_node softmax = flow_.nodes[i];
    const auto& shape = value(softmax.out).shape;
    if (shape.size() != 4 || softmax.how.numbers != extents{3}) return {};
    const std::size_t user = flow_.only_user(softmax.out);
    if (user == no_node || flow_.nodes[user].op != "MatMul") return {};
    if (flow_.nodes[user].in[0] != softmax.out) return {};
    const auto s = scores_of(softmax.in[0]);
    if (!s) return {};
    const std::uint32_t v = flow_.nodes[user].in[1];
    const extents& q = value(s->q).shape;
    const extents transposed{q[0], q[1], q[3], q[2]};
    if (value(v).shape != q || value(s->k_transposed).shape != transposed) return {};
    flow_detail how;
    if (s->mask != nullptr) {
      const auto causal = causal_mask(*s, q[2]);
      if (!causal)
        return refused("Softmax", softmax.name,
                       "attention whose mask neither lets everything through nor is causal");
      how.causal = *causal;
    }
    how.low = s->scale;
    replace(user, *s, v, how);
    return {};
  }

private:
  [[nodiscard]] const flow_value& value(std::uint32_t v) const { return flow_.values[v]; }
  [[nodiscard]] const flow_node* made(std::uint32_t v, std::string_view op) const {
    const std::size_t i = flow_.producer(v);
    return i != no_node && flow_.nodes[i].op == op ? &flow_.nodes[i] : nullptr;
  }
  [[nodiscard]] std::optional<double> number(std::uint32_t v) const {
    const auto& known = value(v).known.values;
    if (value(v).kind != flow_kind::constant || known.size() != 1) return {};
    return known[0];
  }

  /// Follows multiplications and divisions by numbers back to what they scale.
  std::uint32_t unscaled(std::uint32_t v, double& scale) const {
    while (true) {
      if (const auto* product = made(v, "Mul")) {
        const auto a = number(product->in[0]), b = number(product->in[1]);
        if (!a && !b) return v;
        scale *= a ? *a : *b;
        v = product->in[a ? 1 : 0];
      } else if (const auto* quotient = made(v, "Div"); quotient && number(quotient->in[1])) {
        scale /= *number(quotient->in[1]);
        v = quotient->in[0];
      } else {
        return v;
      }
    }
  }

  /// Takes a mask off the scores, if there is one.
  std::uint32_t unmasked(std::uint32_t v, scores& s) const {
    if (const auto* choice = made(v, "Where")) {
      const auto a = number(choice->in[1]), b = number(choice->in[2]);
      if ((a && *a > masked_below) || (b && *b > masked_below) || (!a && !b)) return v;
      s.mask = &value(choice->in[0]).known;
      s.mask_counts = !a;
      return choice->in[a ? 2 : 1];
    }
    if (const auto* sum = made(v, "Add")) {
      const int mask = value(sum->in[0]).kind == flow_kind::constant ? 0 : 1;
      const flow_value& added = value(sum->in[static_cast<std::size_t>(mask)]);
      if (added.kind != flow_kind::constant) return v;
      s.mask = &added.known;
      s.additive = true;
      return sum->in[static_cast<std::size_t>(1 - mask)];
    }
    return v;
  }

  [[nodiscard]] std::optional<scores> scores_of(std::uint32_t v) const {
    scores s;
    const std::uint32_t plain = unscaled(unmasked(v, s), s.scale);
    const auto* product = made(plain, "MatMul");
    if (product == nullptr) return {};
    s.q = unscaled(product->in[0], s.scale);
    s.k_transposed = unscaled(product->in[1], s.scale);
    if (value(s.q).shape.size() != 4 || value(s.k_transposed).shape.size() != 4) return {};
    return s;
  }

  /// Returns whether the mask is causal, false if everything counts, nothing if it is neither.
  [[nodiscard]] static std::optional<bool> causal_mask(const scores& s, std::int64_t T) {
    const constant& mask = *s.mask;
    const extents joint{T, T};
    extents own = mask.shape;
    while (own.size() > 2 && own.front() == 1) own.erase(own.begin());
    const auto fits = joint_shape(joint, own);
    if (own.size() > 2 || !fits || *fits != joint) return {};
    bool all = true, causal = true;
    for (std::size_t i = 0; i < static_cast<std::size_t>(T * T); ++i) {
      const double x = mask.values[joint_index(joint, own, i)];
      if (s.additive && x != 0 && x > masked_below) return {};
      const bool counts = s.additive ? x == 0 : (x != 0) == s.mask_counts;
      const bool past = i % static_cast<std::size_t>(T) <= i / static_cast<std::size_t>(T);
      all = all && counts;
      causal = causal && counts == past;
    }
    if (all) return false;
    return causal ? std::optional(true) : std::nullopt;
  }

  /// The value [B,T,3·heads·D] whose thirds q, k and v are, and which third each is.
  struct third {
    std::uint32_t whole = 0;
    std::int64_t which = -1;
  };

  /// Reads a value [B,heads,T,D] back to its third, in either of two spellings:
  ///   split to [B,T,C], reshape to [B,T,heads,D], transpose
  ///   reshape to [B,T,3,heads,D], transpose, split, reshape
  [[nodiscard]] third third_of(std::uint32_t v) const {
    const extents& shape = value(v).shape;  // [B,heads,T,D]
    const std::int64_t C = shape[1] * shape[3];
    if (const auto* turn = made(v, "Transpose"); turn && turn->how.numbers == extents{0, 2, 1, 3}) {
      const auto* form = made(turn->in[0], "Reshape");
      const auto* part = form == nullptr ? nullptr : made(form->in[0], "Slice");
      if (part == nullptr || part->how.numbers[0] != 2) return {};
      const extents whole{shape[0], shape[2], 3 * C};
      const bool fits = value(part->in[0]).shape == whole && value(part->out).shape.back() == C &&
                        part->how.numbers[1] % C == 0;
      return fits ? third{part->in[0], part->how.numbers[1] / C} : third{};
    }
    const auto* form = made(v, "Reshape");
    const auto* part = form == nullptr ? nullptr : made(form->in[0], "Slice");
    if (part == nullptr || part->how.numbers[0] != 0) return {};
    const auto* turn = made(part->in[0], "Transpose");
    if (turn == nullptr || turn->how.numbers != extents{2, 0, 3, 1, 4}) return {};
    const auto* heads = made(turn->in[0], "Reshape");
    const extents whole{shape[0], shape[2], 3, shape[1], shape[3]};
    if (heads == nullptr || value(heads->out).shape != whole) return {};
    const extents packed{shape[0], shape[2], 3 * C};
    if (value(heads->in[0]).shape != packed) return {};
    return {heads->in[0], part->how.numbers[1]};
  }

  std::uint32_t insert(std::size_t& at, std::string op, std::vector<std::uint32_t> in,
                       extents shape, flow_detail how = {}) {
    const std::string name = flow_.nodes[at].name;
    const auto out = flow_.add_value(op, std::move(shape));
    flow_.nodes.insert(flow_.nodes.begin() + static_cast<std::ptrdiff_t>(at),
                       {std::move(op), name, std::move(in), out, std::move(how)});
    ++at;
    return out;
  }

  void replace(std::size_t at, const scores& s, std::uint32_t v, const flow_detail& how) {
    const extents shape = value(s.q).shape;  // [B,heads,T,D]
    flow_detail turn;
    turn.numbers = {0, 2, 1, 3};
    const auto k = turned(at, s.k_transposed, {0, 1, 3, 2}, shape);
    const third q3 = third_of(s.q), k3 = third_of(k), v3 = third_of(v);
    const bool packed = q3.which == 0 && k3.which == 1 && v3.which == 2 && q3.whole == k3.whole &&
                        k3.whole == v3.whole;
    flow_node& last = flow_.nodes[at];
    if (!packed) {
      last.op = "Attention";
      last.in = {s.q, k, v};
      last.how = how;
      return;
    }
    const std::int64_t B = shape[0], H = shape[1], T = shape[2], D = shape[3];
    flow_detail heads = how;
    heads.numbers = {H, D};
    const auto mixed = insert(at, "Attention", {q3.whole}, {B, T, H * D}, heads);
    const auto split = insert(at, "Reshape", {mixed}, {B, T, H, D});
    flow_.nodes[at].op = "Transpose";
    flow_.nodes[at].in = {split};
    flow_.nodes[at].how = turn;
  }

  /// Returns `v` with its dimensions in another order; two transposes in a row are one, or none.
  std::uint32_t turned(std::size_t& at, std::uint32_t v, const extents& order, extents shape) {
    flow_detail how;
    how.numbers = order;
    if (const auto* inner = made(v, "Transpose")) {
      v = inner->in[0];
      for (std::int64_t& d : how.numbers) d = inner->how.numbers[static_cast<std::size_t>(d)];
    }
    if (how.numbers == extents{0, 1, 2, 3}) return v;
    return insert(at, "Transpose", {v}, std::move(shape), how);
  }

  flow& flow_;
};

}  // namespace

result<void> find_attentions(flow& f) {
  for (std::size_t i = 0; i < f.nodes.size(); ++i) {
    if (f.nodes[i].op != "Softmax") continue;
    if (auto ok = attention_finder(f).rewrite(i); !ok) return ok;
  }
  f.sweep();
  return {};
}

}  // namespace perigee::kernels
