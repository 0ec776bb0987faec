#include "kernels/reference/rows.hpp"

#include <cmath>

namespace perigee::kernels::reference {
namespace {

/// Where value d of row t of a head lies: part 0, 1, 2 = q, k, v; 3 = the output.
struct head_layout {
  const attention_shape& s;
  std::int64_t b, h;

  [[nodiscard]] std::size_t at(std::int64_t part, std::int64_t t, std::int64_t d) const {
    if (!s.packed) return static_cast<std::size_t>(((b * s.heads + h) * s.T + t) * s.D + d);
    const std::int64_t width = s.heads * s.D;
    if (part == 3) return static_cast<std::size_t>((b * s.T + t) * width + h * s.D + d);
    return static_cast<std::size_t>((b * s.T + t) * 3 * width + part * width + h * s.D + d);
  }
  [[nodiscard]] double in(const op_call& c, std::int64_t part, std::int64_t t,
                          std::int64_t d) const {
    const auto* all =
        static_cast<const float*>(c.in[s.packed ? 0 : static_cast<std::size_t>(part)]);
    return static_cast<double>(all[at(part, t, d)]);
  }
};

double scale_of(const attention_shape& s) {
  return s.scale != 0 ? static_cast<double>(s.scale) : 1 / std::sqrt(static_cast<double>(s.D));
}

/// Returns the probabilities of row t over all T columns; 0 where masked.
std::vector<double> probabilities(const head_layout& l, const op_call& c, std::int64_t t) {
  std::vector<double> p(static_cast<std::size_t>(l.s.T), 0);
  double sum = 0;
  for (std::int64_t j = 0; j < l.s.T; ++j) {
    if (l.s.causal && j > t) continue;
    double score = 0;
    for (std::int64_t d = 0; d < l.s.D; ++d) score += l.in(c, 0, t, d) * l.in(c, 1, j, d);
    p[static_cast<std::size_t>(j)] = std::exp(score * scale_of(l.s));
    sum += p[static_cast<std::size_t>(j)];
  }
  for (double& x : p) x /= sum;
  return p;
}

void forward_head(const head_layout& l, const op_call& c) {
  for (std::int64_t t = 0; t < l.s.T; ++t) {
    const std::vector<double> p = probabilities(l, c, t);
    for (std::int64_t d = 0; d < l.s.D; ++d) {
      double sum = 0;
      for (std::int64_t j = 0; j < l.s.T; ++j)
        sum += p[static_cast<std::size_t>(j)] * l.in(c, 2, j, d);
      c.out[0][l.at(3, t, d)] = static_cast<float>(sum);
    }
  }
}

/// din of one head in f64: [3,T,D]
std::vector<double> backward_head(const head_layout& l, const op_call& c) {
  const std::int64_t T = l.s.T, D = l.s.D;
  std::vector<double> din(static_cast<std::size_t>(3 * T * D), 0);
  const auto d_at = [&](std::int64_t part, std::int64_t t, std::int64_t d) -> double& {
    return din[static_cast<std::size_t>((part * T + t) * D + d)];
  };
  for (std::int64_t t = 0; t < T; ++t) {
    const std::vector<double> p = probabilities(l, c, t);
    std::vector<double> dp(static_cast<std::size_t>(T), 0);
    double dot = 0;
    for (std::int64_t j = 0; j < T; ++j) {
      const auto at = static_cast<std::size_t>(j);
      for (std::int64_t d = 0; d < D; ++d) {
        const auto g = static_cast<double>(c.dout[0][l.at(3, t, d)]);
        dp[at] += g * l.in(c, 2, j, d);
        d_at(2, j, d) += p[at] * g;
      }
      dot += p[at] * dp[at];
    }
    for (std::int64_t j = 0; j < T; ++j) {
      const auto at = static_cast<std::size_t>(j);
      const double ds = p[at] * (dp[at] - dot) * scale_of(l.s);
      for (std::int64_t d = 0; d < D; ++d) {
        d_at(0, t, d) += ds * l.in(c, 1, j, d);
        d_at(1, j, d) += ds * l.in(c, 0, t, d);
      }
    }
  }
  return din;
}

}  // namespace

void attention_forward(const attention_shape& s, const op_call& c) {
  for (std::int64_t b = 0; b < s.B; ++b)
    for (std::int64_t h = 0; h < s.heads; ++h) forward_head({s, b, h}, c);
}

void attention_backward(const attention_shape& s, const op_call& c) {
  for (std::int64_t head = 0; head < s.B * s.heads; ++head) {
    const head_layout l{s, head / s.heads, head % s.heads};
    const std::vector<double> din = backward_head(l, c);
    for (std::int64_t part = 0; part < 3; ++part) {
      float* to = c.din[s.packed ? 0 : static_cast<std::size_t>(part)];
      if (to == nullptr) continue;
      for (std::int64_t t = 0; t < s.T; ++t)
        for (std::int64_t d = 0; d < s.D; ++d)
          to[l.at(part, t, d)] =
              static_cast<float>(din[static_cast<std::size_t>((part * s.T + t) * s.D + d)]);
    }
  }
}

}  // namespace perigee::kernels::reference
