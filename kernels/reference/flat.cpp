#include "kernels/reference/flat.hpp"

#include "proto/base/random.hpp"

#include <algorithm>
#include <cmath>

namespace perigee::kernels::reference {
namespace {

const float* floats(const op_call& c, std::size_t i) { return static_cast<const float*>(c.in[i]); }
double f64(float x) { return static_cast<double>(x); }
float f32(double x) { return static_cast<float>(x); }
std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

constexpr double root_two_by_pi = 0.79788456080286535588;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double value(activation_kind kind, double x) {
  switch (kind) {
    case activation_kind::relu:
      return std::max(x, 0.0);
    case activation_kind::relu6:
      return std::clamp(x, 0.0, 6.0);
    case activation_kind::gelu_erf:
      return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
    case activation_kind::gelu_tanh:
      return x / 2 * (1 + std::tanh(root_two_by_pi * (x + 0.044715 * x * x * x)));
    case activation_kind::sigmoid:
      return sigmoid(x);
    case activation_kind::silu:
      return x * sigmoid(x);
    case activation_kind::tanh:
      return std::tanh(x);
    case activation_kind::hardswish:
      return x * std::clamp(x + 3, 0.0, 6.0) / 6;
  }
  return 0;
}

double slope(activation_kind kind, double x) {
  switch (kind) {
    case activation_kind::relu:
      return x > 0 ? 1 : 0;
    case activation_kind::relu6:
      return x > 0 && x < 6 ? 1 : 0;
    case activation_kind::gelu_erf:
      return (1 + std::erf(x / std::sqrt(2.0))) / 2 + x * std::exp(-x * x / 2) * root_two_by_pi / 2;
    case activation_kind::gelu_tanh: {
      const double t = std::tanh(root_two_by_pi * (x + 0.044715 * x * x * x));
      return (1 + t) / 2 + x / 2 * (1 - t * t) * root_two_by_pi * (1 + 3 * 0.044715 * x * x);
    }
    case activation_kind::sigmoid:
      return sigmoid(x) * (1 - sigmoid(x));
    case activation_kind::silu:
      return sigmoid(x) * (1 + x * (1 - sigmoid(x)));
    case activation_kind::tanh:
      return 1 - std::tanh(x) * std::tanh(x);
    case activation_kind::hardswish:
      if (x < -3) return 0;
      return x <= 3 ? x / 3 + 0.5 : 1;
  }
  return 0;
}

/// Turns a place in the joint shape of a broadcast into one in an operand of shape `own`.
std::size_t place_in(const std::vector<std::int64_t>& own, const std::vector<std::size_t>& index) {
  std::size_t place = 0;
  const std::size_t skipped = index.size() - own.size();
  for (std::size_t i = 0; i < own.size(); ++i)
    place = place * size(own[i]) + (own[i] == 1 ? 0 : index[skipped + i]);
  return place;
}

std::vector<std::int64_t> joint_shape(const broadcast_shape& s) {
  std::vector<std::int64_t> joint(std::max(s.a.size(), s.b.size()), 1);
  for (const auto* shape : {&s.a, &s.b})
    for (std::size_t i = 0; i < shape->size(); ++i) {
      std::int64_t& d = joint[joint.size() - shape->size() + i];
      d = std::max(d, (*shape)[i]);
    }
  return joint;
}

/// Calls use(index, place) for each place of a row-major tensor.
template <class Use>
void for_each_index(const std::vector<std::int64_t>& shape, const Use& use) {
  std::int64_t count = 1;
  for (const std::int64_t d : shape) count *= d;
  std::vector<std::size_t> index(shape.size());
  for (std::size_t place = 0; place < size(count); ++place) {
    std::size_t rest = place;
    for (std::size_t i = shape.size(); i-- > 0; rest /= size(shape[i]))
      index[i] = rest % size(shape[i]);
    use(index, place);
  }
}

/// Calls use(place in the result, place in the input) for each value of a transpose.
template <class Use>
void for_each_pair(const transpose_shape& s, const Use& use) {
  std::vector<std::int64_t> out;
  for (const std::int64_t d : s.order) out.push_back(s.in[size(d)]);
  for_each_index(out, [&](const std::vector<std::size_t>& index, std::size_t place) {
    std::vector<std::size_t> there(index.size());
    for (std::size_t i = 0; i < index.size(); ++i) there[size(s.order[i])] = index[i];
    std::size_t from = 0;
    for (std::size_t i = 0; i < there.size(); ++i) from = from * size(s.in[i]) + there[i];
    use(place, from);
  });
}

/// Calls use(input, place in it, place in the result) for each value of a concat.
template <class Use>
void for_each_joined(const concat_shape& s, const Use& use) {
  std::vector<std::int64_t> out = s.in[0];
  out[size(s.axis)] = 0;
  for (const auto& shape : s.in) out[size(s.axis)] += shape[size(s.axis)];
  for_each_index(out, [&](std::vector<std::size_t> index, std::size_t place) {
    std::size_t k = 0;
    while (index[size(s.axis)] >= size(s.in[k][size(s.axis)]))
      index[size(s.axis)] -= size(s.in[k++][size(s.axis)]);
    std::size_t from = 0;
    for (std::size_t i = 0; i < index.size(); ++i) from = from * size(s.in[k][i]) + index[i];
    use(k, from, place);
  });
}

/// The rule of kernels/ops/dropout.cpp, one value at a time.
void drop(const dropout_shape& s, const op_call& c, const float* x, float* y) {
  const auto low = [](std::uint64_t v) { return static_cast<std::uint32_t>(v); };
  const philox_counter place =
      philox4x32({3, s.stream, c.micro_batch, 0}, {low(c.seed), low(c.seed >> 32U)});
  const philox_counter key =
      philox4x32({low(c.step), low(c.step >> 32U), place[2], place[3]}, {place[0], place[1]});
  for (std::uint64_t i = 0; i < size(s.count); ++i) {
    const std::uint64_t block = i / 64 * 16 + i % 16;
    const philox_counter words =
        philox4x32({low(block), low(block >> 32U), 0, 0}, {key[0], key[1]});
    const bool dropped =
        static_cast<double>(words[i / 16 % 4]) < std::floor(s.probability * 4294967296.0);
    y[i] = dropped ? 0 : f32(f64(x[i]) / (1 - s.probability));
  }
}

}  // namespace

void activation_forward(const activation_shape& s, const op_call& c) {
  for (std::size_t i = 0; i < size(s.count); ++i)
    c.out[0][i] = f32(value(s.kind, f64(floats(c, 0)[i])));
}

void activation_backward(const activation_shape& s, const op_call& c) {
  for (std::size_t i = 0; i < size(s.count); ++i)
    c.din[0][i] = f32(f64(c.dout[0][i]) * slope(s.kind, f64(floats(c, 0)[i])));
}

void residual_forward(const residual_shape& s, const op_call& c) {
  for (std::size_t i = 0; i < size(s.count); ++i) {
    const float sum = floats(c, 0)[i] + floats(c, 1)[i];
    c.out[0][i] = s.relu ? std::max(sum, 0.0F) : sum;
  }
}

void residual_backward(const residual_shape& s, const op_call& c) {
  for (std::size_t i = 0; i < size(s.count); ++i) {
    const bool passes = !s.relu || floats(c, 0)[i] + floats(c, 1)[i] > 0;
    for (float* dx : c.din)
      if (dx != nullptr) dx[i] = passes ? c.dout[0][i] : 0;
  }
}

void broadcast_forward(const broadcast_shape& s, const op_call& c) {
  for_each_index(joint_shape(s), [&](const std::vector<std::size_t>& index, std::size_t place) {
    const float a = floats(c, 0)[place_in(s.a, index)], b = floats(c, 1)[place_in(s.b, index)];
    c.out[0][place] = s.kind == broadcast_kind::add ? a + b : a * b;
  });
}

void broadcast_backward(const broadcast_shape& s, const op_call& c) {
  const bool multiply = s.kind == broadcast_kind::multiply;
  for (std::size_t k = 0; k < 2; ++k) {
    if (c.din[k] == nullptr) continue;
    const auto &own = k == 0 ? s.a : s.b, &other = k == 0 ? s.b : s.a;
    std::int64_t count = 1;
    for (const std::int64_t d : own) count *= d;
    std::vector<double> sum(size(count), 0);
    for_each_index(joint_shape(s), [&](const std::vector<std::size_t>& index, std::size_t place) {
      const double by = multiply ? f64(floats(c, 1 - k)[place_in(other, index)]) : 1;
      sum[place_in(own, index)] += f64(c.dout[0][place]) * by;
    });
    for (std::size_t i = 0; i < sum.size(); ++i) c.din[k][i] = f32(sum[i]);
  }
}

void concat_forward(const concat_shape& s, const op_call& c) {
  for_each_joined(s, [&](std::size_t k, std::size_t from, std::size_t place) {
    c.out[0][place] = floats(c, k)[from];
  });
}

void concat_backward(const concat_shape& s, const op_call& c) {
  for_each_joined(s, [&](std::size_t k, std::size_t from, std::size_t place) {
    if (c.din[k] != nullptr) c.din[k][from] = c.dout[0][place];
  });
}

void transpose_forward(const transpose_shape& s, const op_call& c) {
  for_each_pair(s, [&](std::size_t to, std::size_t from) { c.out[0][to] = floats(c, 0)[from]; });
}

void transpose_backward(const transpose_shape& s, const op_call& c) {
  for_each_pair(s, [&](std::size_t to, std::size_t from) { c.din[0][from] = c.dout[0][to]; });
}

void dropout_forward(const dropout_shape& s, const op_call& c) {
  drop(s, c, floats(c, 0), c.out[0]);
}

void dropout_backward(const dropout_shape& s, const op_call& c) { drop(s, c, c.dout[0], c.din[0]); }

void squared_error_forward(const squared_error_shape& s, const op_call& c) {
  *c.loss = 0;
  for (std::size_t i = 0; i < size(s.count); ++i)
    *c.loss += std::pow(f64(floats(c, 0)[i]) - f64(floats(c, 1)[i]), 2);
}

void squared_error_backward(const squared_error_shape& s, const op_call& c) {
  for (std::size_t i = 0; i < size(s.count); ++i) {
    const double d = 2 * (f64(floats(c, 0)[i]) - f64(floats(c, 1)[i])) * c.loss_scale;
    if (c.din[0] != nullptr) c.din[0][i] = f32(d);
    if (c.din[1] != nullptr) c.din[1][i] = f32(-d);
  }
}

}  // namespace perigee::kernels::reference
