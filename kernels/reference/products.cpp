#include "kernels/reference/images.hpp"

namespace perigee::kernels::reference {
namespace {

const float* input(const op_call& c, std::size_t i) { return static_cast<const float*>(c.in[i]); }

double f64(float x) { return static_cast<double>(x); }

}  // namespace

void linear_forward(const linear_shape& s, const op_call& c) {
  for (std::int64_t r = 0; r < s.R; ++r)
    for (std::int64_t n = 0; n < s.N; ++n) {
      double sum = s.bias ? f64(c.param[1][n]) : 0.0;
      for (std::int64_t k = 0; k < s.C; ++k)
        sum += f64(input(c, 0)[r * s.C + k]) * f64(c.param[0][n * s.C + k]);
      c.out[0][r * s.N + n] = static_cast<float>(sum);
    }
}

void linear_backward(const linear_shape& s, const op_call& c) {
  for (std::int64_t r = 0; c.din[0] != nullptr && r < s.R; ++r)
    for (std::int64_t k = 0; k < s.C; ++k) {
      double sum = 0;
      for (std::int64_t n = 0; n < s.N; ++n)
        sum += f64(c.dout[0][r * s.N + n]) * f64(c.param[0][n * s.C + k]);
      c.din[0][r * s.C + k] = static_cast<float>(sum);
    }
  for (std::int64_t n = 0; n < s.N; ++n) {
    for (std::int64_t k = 0; k < s.C; ++k) {
      double sum = f64(c.dparam[0][n * s.C + k]);
      for (std::int64_t r = 0; r < s.R; ++r)
        sum += f64(c.dout[0][r * s.N + n]) * f64(input(c, 0)[r * s.C + k]);
      c.dparam[0][n * s.C + k] = static_cast<float>(sum);
    }
    double sum = 0;
    for (std::int64_t r = 0; r < s.R; ++r) sum += f64(c.dout[0][r * s.N + n]);
    if (s.bias) c.dparam[1][n] = static_cast<float>(f64(c.dparam[1][n]) + sum);
  }
}

void matmul_forward(const matmul_shape& s, const op_call& c) {
  for (std::int64_t g = 0; g < s.G; ++g)
    for (std::int64_t r = 0; r < s.R; ++r)
      for (std::int64_t n = 0; n < s.N; ++n) {
        double sum = 0;
        for (std::int64_t k = 0; k < s.C; ++k)
          sum +=
              f64(input(c, 0)[(g * s.R + r) * s.C + k]) * f64(input(c, 1)[(g * s.C + k) * s.N + n]);
        c.out[0][(g * s.R + r) * s.N + n] = static_cast<float>(sum);
      }
}

void matmul_backward(const matmul_shape& s, const op_call& c) {
  for (std::int64_t g = 0; g < s.G; ++g) {
    const float *a = input(c, 0) + g * s.R * s.C, *b = input(c, 1) + g * s.C * s.N;
    const float* dout = c.dout[0] + g * s.R * s.N;
    for (std::int64_t r = 0; c.din[0] != nullptr && r < s.R; ++r)
      for (std::int64_t k = 0; k < s.C; ++k) {
        double sum = 0;
        for (std::int64_t n = 0; n < s.N; ++n) sum += f64(dout[r * s.N + n]) * f64(b[k * s.N + n]);
        c.din[0][(g * s.R + r) * s.C + k] = static_cast<float>(sum);
      }
    for (std::int64_t k = 0; c.din[1] != nullptr && k < s.C; ++k)
      for (std::int64_t n = 0; n < s.N; ++n) {
        double sum = 0;
        for (std::int64_t r = 0; r < s.R; ++r) sum += f64(a[r * s.C + k]) * f64(dout[r * s.N + n]);
        c.din[1][(g * s.C + k) * s.N + n] = static_cast<float>(sum);
      }
  }
}

}  // namespace perigee::kernels::reference
