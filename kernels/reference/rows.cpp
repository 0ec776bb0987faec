#include "kernels/reference/rows.hpp"

#include <algorithm>
#include <cmath>

namespace perigee::kernels::reference {
namespace {

const float* floats(const op_call& c, std::size_t i) { return static_cast<const float*>(c.in[i]); }
double f64(float x) { return static_cast<double>(x); }
std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

struct moments {
  double mean = 0, rstd = 0;
};

moments moments_of(const layer_norm_shape& s, const float* x) {
  double mean = 0, variance = 0;
  for (std::size_t i = 0; i < size(s.C); ++i) mean += f64(x[i]) / static_cast<double>(s.C);
  for (std::size_t i = 0; i < size(s.C); ++i)
    variance += (f64(x[i]) - mean) * (f64(x[i]) - mean) / static_cast<double>(s.C);
  return {mean, 1 / std::sqrt(variance + f64(s.epsilon))};
}

/// Returns the softmax of C values that lie `step` apart.
std::vector<double> softmax_of(const float* x, std::size_t C, std::size_t step) {
  std::vector<double> p(C);
  double largest = -HUGE_VAL, sum = 0;
  for (std::size_t i = 0; i < C; ++i) largest = std::max(largest, f64(x[i * step]));
  for (std::size_t i = 0; i < C; ++i) sum += p[i] = std::exp(f64(x[i * step]) - largest);
  for (double& v : p) v /= sum;
  return p;
}

}  // namespace

void layer_norm_forward(const layer_norm_shape& s, const op_call& c) {
  for (std::size_t r = 0; r < size(s.R); ++r) {
    const float* x = floats(c, 0) + r * size(s.C);
    const moments m = moments_of(s, x);
    for (std::size_t i = 0; i < size(s.C); ++i)
      c.out[0][r * size(s.C) + i] = static_cast<float>(
          (f64(x[i]) - m.mean) * m.rstd * f64(c.param[0][i]) + f64(c.param[1][i]));
  }
}

void layer_norm_backward(const layer_norm_shape& s, const op_call& c) {
  const auto count = static_cast<double>(s.C);
  std::vector<double> dweight(size(s.C), 0), dbias(size(s.C), 0);
  for (std::size_t r = 0; r < size(s.R); ++r) {
    const float* x = floats(c, 0) + r * size(s.C);
    const float* dy = c.dout[0] + r * size(s.C);
    const moments m = moments_of(s, x);
    double g_mean = 0, gh_mean = 0;
    for (std::size_t i = 0; i < size(s.C); ++i) {
      const double h = (f64(x[i]) - m.mean) * m.rstd, g = f64(dy[i]) * f64(c.param[0][i]);
      g_mean += g / count, gh_mean += g * h / count;
      dweight[i] += f64(dy[i]) * h, dbias[i] += f64(dy[i]);
    }
    if (c.din[0] == nullptr) continue;
    for (std::size_t i = 0; i < size(s.C); ++i) {
      const double h = (f64(x[i]) - m.mean) * m.rstd, g = f64(dy[i]) * f64(c.param[0][i]);
      c.din[0][r * size(s.C) + i] = static_cast<float>(m.rstd * (g - g_mean - h * gh_mean));
    }
  }
  for (std::size_t i = 0; i < size(s.C); ++i) {
    c.dparam[0][i] = static_cast<float>(f64(c.dparam[0][i]) + dweight[i]);
    c.dparam[1][i] = static_cast<float>(f64(c.dparam[1][i]) + dbias[i]);
  }
}

void softmax_forward(const softmax_shape& s, const op_call& c) {
  const std::size_t C = size(s.C), inner = size(s.inner);
  for (std::size_t row = 0; row < size(s.outer) * inner; ++row) {
    const std::size_t first = row / inner * C * inner + row % inner;
    const std::vector<double> p = softmax_of(floats(c, 0) + first, C, inner);
    for (std::size_t i = 0; i < C; ++i) c.out[0][first + i * inner] = static_cast<float>(p[i]);
  }
}

void softmax_backward(const softmax_shape& s, const op_call& c) {
  const std::size_t C = size(s.C), inner = size(s.inner);
  for (std::size_t row = 0; row < size(s.outer) * inner; ++row) {
    const std::size_t first = row / inner * C * inner + row % inner;
    const std::vector<double> p = softmax_of(floats(c, 0) + first, C, inner);
    double dot = 0;
    for (std::size_t i = 0; i < C; ++i) dot += p[i] * f64(c.dout[0][first + i * inner]);
    for (std::size_t i = 0; i < C; ++i)
      c.din[0][first + i * inner] =
          static_cast<float>(p[i] * (f64(c.dout[0][first + i * inner]) - dot));
  }
}

void embedding_forward(const embedding_shape& s, const op_call& c) {
  const auto* ids = static_cast<const std::int32_t*>(c.in[0]);
  for (std::size_t r = 0; r < size(s.R); ++r)
    for (std::size_t i = 0; i < size(s.C); ++i) {
      float y = c.param[0][size(ids[r]) * size(s.C) + i];
      if (s.T != 0) y += c.param[1][r % size(s.T) * size(s.C) + i];
      c.out[0][r * size(s.C) + i] = y;
    }
}

void embedding_backward(const embedding_shape& s, const op_call& c) {
  const auto* ids = static_cast<const std::int32_t*>(c.in[0]);
  for (std::size_t r = 0; r < size(s.R); ++r)
    for (std::size_t i = 0; i < size(s.C); ++i) {
      const float g = c.dout[0][r * size(s.C) + i];
      c.dparam[0][size(ids[r]) * size(s.C) + i] += g;
      if (s.T != 0) c.dparam[1][r % size(s.T) * size(s.C) + i] += g;
    }
}

void cross_entropy_forward(const cross_entropy_shape& s, const op_call& c) {
  const auto* target = static_cast<const std::int32_t*>(c.in[1]);
  *c.loss = 0;
  for (std::size_t r = 0; r < size(s.R); ++r)
    if (target[r] != s.ignore)
      *c.loss -= std::log(softmax_of(floats(c, 0) + r * size(s.V), size(s.V), 1)[size(target[r])]);
}

void cross_entropy_backward(const cross_entropy_shape& s, const op_call& c) {
  const auto* target = static_cast<const std::int32_t*>(c.in[1]);
  for (std::size_t r = 0; r < size(s.R); ++r) {
    std::vector<double> p = softmax_of(floats(c, 0) + r * size(s.V), size(s.V), 1);
    if (target[r] == s.ignore)
      std::fill(p.begin(), p.end(), 0);
    else
      p[size(target[r])] -= 1;
    for (std::size_t i = 0; i < size(s.V); ++i)
      c.din[0][r * size(s.V) + i] = static_cast<float>(p[i] * c.loss_scale);
  }
}

}  // namespace perigee::kernels::reference
