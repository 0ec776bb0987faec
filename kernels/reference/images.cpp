#include "kernels/reference/images.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace perigee::kernels::reference {
namespace {

const float* input(const op_call& c) { return static_cast<const float*>(c.in[0]); }

double f64(float x) { return static_cast<double>(x); }

std::int64_t extent(const conv2d_shape& s, std::int64_t in, std::int64_t kernel) {
  return (in + 2 * s.padding - s.dilation * (kernel - 1) - 1) / s.stride + 1;
}

/// Calls visit(output, input, weight) with the positions of each product of the convolution.
template <class Visit>
void each_product(const conv2d_shape& s, const Visit& visit) {
  const std::int64_t OH = extent(s, s.H, s.KH), OW = extent(s, s.W, s.KW);
  const std::int64_t Cg = s.C / s.groups, Ng = s.N / s.groups;
  for (std::int64_t o = 0; o < s.B * OH * OW * s.N; ++o) {
    const std::int64_t n = o % s.N, ow = o / s.N % OW, oh = o / s.N / OW % OH,
                       b = o / s.N / OW / OH;
    for (std::int64_t w = 0; w < Cg * s.KH * s.KW; ++w) {
      const std::int64_t kw = w % s.KW, kh = w / s.KW % s.KH, c = w / s.KW / s.KH;
      const std::int64_t y = oh * s.stride - s.padding + kh * s.dilation;
      const std::int64_t x = ow * s.stride - s.padding + kw * s.dilation;
      if (y < 0 || y >= s.H || x < 0 || x >= s.W) continue;
      visit(o, ((b * s.H + y) * s.W + x) * s.C + n / Ng * Cg + c, n * Cg * s.KH * s.KW + w);
    }
  }
}

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

using doubles = std::vector<double>;

struct normalised {
  doubles mean, variance;  // biased
};

normalised moments_of(const batch_norm_shape& s, const float* x) {
  const std::int64_t R = s.B * s.H * s.W;
  normalised m{doubles(at(s.C)), doubles(at(s.C))};
  for (std::int64_t i = 0; i < R * s.C; ++i) m.mean[at(i % s.C)] += f64(x[i]) / double(R);
  for (std::int64_t i = 0; i < R * s.C; ++i)
    m.variance[at(i % s.C)] += std::pow(f64(x[i]) - m.mean[at(i % s.C)], 2) / double(R);
  return m;
}

/// Calls visit(output, input) for each pixel under each window of max and average pooling.
template <class Visit>
void each_pixel(const pool_shape& s, const Visit& visit) {
  const std::int64_t OH = (s.H + 2 * s.padding - s.kernel) / s.stride + 1;
  const std::int64_t OW = (s.W + 2 * s.padding - s.kernel) / s.stride + 1;
  for (std::int64_t o = 0; o < s.B * OH * OW * s.C; ++o) {
    const std::int64_t c = o % s.C, ow = o / s.C % OW, oh = o / s.C / OW % OH,
                       b = o / s.C / OW / OH;
    for (std::int64_t k = 0; k < s.kernel * s.kernel; ++k) {
      const std::int64_t y = oh * s.stride - s.padding + k / s.kernel;
      const std::int64_t x = ow * s.stride - s.padding + k % s.kernel;
      if (y >= 0 && y < s.H && x >= 0 && x < s.W) visit(o, ((b * s.H + y) * s.W + x) * s.C + c);
    }
  }
}

std::int64_t outputs(const pool_shape& s) {
  if (s.kind == pool_kind::global_average) return s.B * s.C;
  return s.B * s.C * ((s.H + 2 * s.padding - s.kernel) / s.stride + 1) *
         ((s.W + 2 * s.padding - s.kernel) / s.stride + 1);
}

/// For each output of a max pooling the input that won.
std::vector<std::int64_t> winners(const pool_shape& s, const float* in) {
  std::vector<std::int64_t> won(at(outputs(s)), -1);
  each_pixel(s, [&](std::int64_t o, std::int64_t i) {
    if (won[at(o)] < 0 || in[i] > in[won[at(o)]]) won[at(o)] = i;
  });
  return won;
}

void assign(float* to, const doubles& values) {
  for (std::size_t i = 0; i < values.size(); ++i) to[i] = static_cast<float>(values[i]);
}

void accumulate(float* to, const doubles& values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    to[i] = static_cast<float>(f64(to[i]) + values[i]);
}

}  // namespace

void conv2d_forward(const conv2d_shape& s, const op_call& c) {
  doubles out(at(s.B * extent(s, s.H, s.KH) * extent(s, s.W, s.KW) * s.N));
  for (std::size_t i = 0; s.bias && i < out.size(); ++i) out[i] = f64(c.param[1][i % at(s.N)]);
  each_product(s, [&](std::int64_t o, std::int64_t i, std::int64_t w) {
    out[at(o)] += f64(input(c)[i]) * f64(c.param[0][w]);
  });
  assign(c.out[0], out);
}

void conv2d_backward(const conv2d_shape& s, const op_call& c) {
  doubles din(at(s.B * s.H * s.W * s.C)), dweight(at(s.N * (s.C / s.groups) * s.KH * s.KW));
  each_product(s, [&](std::int64_t o, std::int64_t i, std::int64_t w) {
    din[at(i)] += f64(c.dout[0][o]) * f64(c.param[0][w]);
    dweight[at(w)] += f64(c.dout[0][o]) * f64(input(c)[i]);
  });
  if (c.din[0] != nullptr) assign(c.din[0], din);
  accumulate(c.dparam[0], dweight);
  if (!s.bias) return;
  doubles dbias(at(s.N));
  const std::int64_t count = s.B * extent(s, s.H, s.KH) * extent(s, s.W, s.KW) * s.N;
  for (std::int64_t o = 0; o < count; ++o) dbias[at(o % s.N)] += f64(c.dout[0][o]);
  accumulate(c.dparam[1], dbias);
}

void batch_norm_forward(const batch_norm_shape& s, const op_call& c) {
  const std::int64_t R = s.B * s.H * s.W;
  normalised m = moments_of(s, input(c));
  for (std::int64_t ch = 0; ch < s.C; ++ch) {
    if (s.pass == pass_kind::evaluation) {
      m.mean[at(ch)] = f64(c.running[ch]);
      m.variance[at(ch)] = f64(c.running[s.C + ch]);
    } else {
      c.statistics[ch] = static_cast<float>(m.mean[at(ch)]);
      c.statistics[s.C + ch] = static_cast<float>(m.variance[at(ch)] * double(R) / double(R - 1));
    }
  }
  for (std::int64_t i = 0; i < R * s.C; ++i) {
    const std::size_t ch = at(i % s.C);
    const double y = (f64(input(c)[i]) - m.mean[ch]) / std::sqrt(m.variance[ch] + f64(s.epsilon)) *
                         f64(c.param[0][ch]) +
                     f64(c.param[1][ch]);
    c.out[0][i] = static_cast<float>(s.relu ? std::max(y, 0.0) : y);
  }
}

void batch_norm_backward(const batch_norm_shape& s, const op_call& c) {
  const std::int64_t R = s.B * s.H * s.W;
  const normalised m = moments_of(s, input(c));
  doubles dweight(at(s.C)), dbias(at(s.C)), hat(at(R * s.C)), dy(at(R * s.C));
  for (std::int64_t i = 0; i < R * s.C; ++i) {
    const std::size_t ch = at(i % s.C);
    hat[at(i)] = (f64(input(c)[i]) - m.mean[ch]) / std::sqrt(m.variance[ch] + f64(s.epsilon));
    const double y = hat[at(i)] * f64(c.param[0][ch]) + f64(c.param[1][ch]);
    dy[at(i)] = s.relu && y <= 0 ? 0.0 : f64(c.dout[0][i]);
    dweight[ch] += dy[at(i)] * hat[at(i)];
    dbias[ch] += dy[at(i)];
  }
  for (std::int64_t i = 0; c.din[0] != nullptr && i < R * s.C; ++i) {
    const std::size_t ch = at(i % s.C);
    const double centred = dy[at(i)] - dbias[ch] / double(R) - hat[at(i)] * dweight[ch] / double(R);
    c.din[0][i] = static_cast<float>(f64(c.param[0][ch]) * centred /
                                     std::sqrt(m.variance[ch] + f64(s.epsilon)));
  }
  accumulate(c.dparam[0], dweight);
  accumulate(c.dparam[1], dbias);
}

void pool_forward(const pool_shape& s, const op_call& c) {
  doubles out(at(outputs(s)));
  if (s.kind == pool_kind::max) {
    const std::vector<std::int64_t> won = winners(s, input(c));
    for (std::size_t o = 0; o < won.size(); ++o) out[o] = f64(input(c)[won[o]]);
  } else if (s.kind == pool_kind::average) {
    each_pixel(s, [&](std::int64_t o, std::int64_t i) {
      out[at(o)] += f64(input(c)[i]) / double(s.kernel * s.kernel);
    });
  } else {
    for (std::int64_t i = 0; i < s.B * s.H * s.W * s.C; ++i)
      out[at(i / (s.H * s.W * s.C) * s.C + i % s.C)] += f64(input(c)[i]) / double(s.H * s.W);
  }
  assign(c.out[0], out);
}

void pool_backward(const pool_shape& s, const op_call& c) {
  if (c.din[0] == nullptr) return;
  doubles din(at(s.B * s.H * s.W * s.C));
  if (s.kind == pool_kind::max) {
    const std::vector<std::int64_t> won = winners(s, input(c));
    for (std::size_t o = 0; o < won.size(); ++o) din[at(won[o])] += f64(c.dout[0][o]);
  } else if (s.kind == pool_kind::average) {
    each_pixel(s, [&](std::int64_t o, std::int64_t i) {
      din[at(i)] += f64(c.dout[0][o]) / double(s.kernel * s.kernel);
    });
  } else {
    for (std::int64_t i = 0; i < s.B * s.H * s.W * s.C; ++i)
      din[at(i)] = f64(c.dout[0][i / (s.H * s.W * s.C) * s.C + i % s.C]) / double(s.H * s.W);
  }
  assign(c.din[0], din);
}

}  // namespace perigee::kernels::reference
