#include "kernels/model/onnx/constant.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace perigee::kernels {

namespace {

constexpr double whole_max = 9007199254740992.0;  // 2^53

template <class T>
std::vector<double> doubles(const std::vector<std::byte>& data) {
  std::vector<double> all(data.size() / sizeof(T));
  for (std::size_t i = 0; i < all.size(); ++i) {
    T x;
    std::memcpy(&x, data.data() + i * sizeof x, sizeof x);
    all[i] = static_cast<double>(x);
  }
  return all;
}

double round_half_even(double x) { return std::nearbyint(x); }

}  // namespace

std::int64_t capped_count(const extents& shape) noexcept {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size <= 0) return 0;
    count = size > count_cap / count ? count_cap : count * size;
  }
  return count;
}

std::optional<constant> constant_of(const named_tensor& t) {
  if (capped_count(t.shape) > constant_count_max) return {};
  switch (t.type) {
    case dtype::f32:
      return constant{dtype::f32, t.shape, doubles<float>(t.data)};
    case dtype::f64: {
      auto values = doubles<double>(t.data);
      for (double& x : values) x = static_cast<float>(x);
      return constant{dtype::f32, t.shape, std::move(values)};
    }
    case dtype::i64: {
      auto values = doubles<std::int64_t>(t.data);
      for (double& x : values) x = std::clamp(x, -whole_max, whole_max);
      return constant{dtype::i64, t.shape, std::move(values)};
    }
    case dtype::i32:
      return constant{dtype::i64, t.shape, doubles<std::int32_t>(t.data)};
    case dtype::boolean:
    case dtype::u8: {
      const bool truth = t.type == dtype::boolean;
      auto values = doubles<std::uint8_t>(t.data);
      if (truth)
        for (double& x : values) x = x != 0 ? 1 : 0;
      return constant{truth ? dtype::boolean : dtype::i64, t.shape, std::move(values)};
    }
    default:
      return {};
  }
}

named_tensor tensor_of(const constant& c, std::string name) {
  named_tensor t{std::move(name), dtype::f32, c.shape, {}};
  t.data.resize(c.values.size() * sizeof(float));
  for (std::size_t i = 0; i < c.values.size(); ++i) {
    const auto x = static_cast<float>(c.values[i]);
    std::memcpy(t.data.data() + i * sizeof x, &x, sizeof x);
  }
  return t;
}

extents whole_numbers(const constant& c) {
  extents all;
  for (const double x : c.values) all.push_back(static_cast<std::int64_t>(x));
  return all;
}

std::optional<double> unary(const std::string& op, double x, double a, double b) {
  if (op == "Relu") return std::max(x, 0.0);
  if (op == "Erf") return std::erf(x);
  if (op == "Sqrt") return std::sqrt(x);
  if (op == "Exp") return std::exp(x);
  if (op == "Log") return std::log(x);
  if (op == "Tanh") return std::tanh(x);
  if (op == "Sigmoid") return 1 / (1 + std::exp(-x));
  if (op == "Softplus") return std::log1p(std::exp(x));
  if (op == "Neg") return -x;
  if (op == "Abs") return std::abs(x);
  if (op == "Reciprocal") return 1 / x;
  if (op == "Floor") return std::floor(x);
  if (op == "Ceil") return std::ceil(x);
  if (op == "Round") return round_half_even(x);
  if (op == "Not") return x == 0 ? 1 : 0;
  if (op == "Clip") return std::clamp(x, a, b);
  if (op == "HardSigmoid") return std::clamp(a * x + b, 0.0, 1.0);
  if (op == "HardSwish") return x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
  return {};
}

std::optional<double> binary(const std::string& op, double x, double y) {
  if (op == "Add") return x + y;
  if (op == "Sub") return x - y;
  if (op == "Mul") return x * y;
  if (op == "Div") return x / y;
  if (op == "Pow") return std::pow(x, y);
  if (op == "Min") return std::min(x, y);
  if (op == "Max") return std::max(x, y);
  if (op == "Mod") return x - y * std::floor(x / y);
  if (op == "Equal") return x == y ? 1 : 0;
  if (op == "Less") return x < y ? 1 : 0;
  if (op == "LessOrEqual") return x <= y ? 1 : 0;
  if (op == "Greater") return x > y ? 1 : 0;
  if (op == "GreaterOrEqual") return x >= y ? 1 : 0;
  if (op == "And") return x != 0 && y != 0 ? 1 : 0;
  if (op == "Or") return x != 0 || y != 0 ? 1 : 0;
  return {};
}

std::optional<extents> joint_shape(const extents& a, const extents& b) {
  extents joint(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < joint.size(); ++i) {
    const auto at = [i](const extents& s) { return i < s.size() ? s[s.size() - 1 - i] : 1; };
    const std::int64_t x = at(a), y = at(b);
    if (x != y && x != 1 && y != 1) return {};
    joint[joint.size() - 1 - i] = x == 1 ? y : x;
  }
  return joint;
}

std::size_t joint_index(const extents& joint, const extents& own, std::size_t index) {
  std::size_t at = 0, step = 1;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const auto size = static_cast<std::size_t>(joint[joint.size() - 1 - i]);
    const auto mine = static_cast<std::size_t>(own[own.size() - 1 - i]);
    if (mine != 1) at += index % size * step;
    step *= mine;
    index /= size;
  }
  return at;
}

}  // namespace perigee::kernels
