#include "kernels/optimizer/optimizer.hpp"

#include "kernels/ops/vector_math.hpp"
#include "proto/base/check.hpp"

#include <cmath>

namespace perigee::kernels {
namespace {

struct sgd_numbers {
  float rate, scale, momentum, decay;
  bool nesterov;
};

PERIGEE_CLONES void sgd_plain(const update_call& c, const sgd_numbers& n) {
  float* p = c.param.data();
  const float* g = c.grad.data();
  const std::size_t count = c.param.size();
  const sgd_numbers k = n;
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) p[i] -= k.rate * (g[i] * k.scale + k.decay * p[i]);
}

PERIGEE_CLONES void sgd_momentum(const update_call& c, const sgd_numbers& n) {
  float* p = c.param.data();
  float* m = c.moment1.data();
  const float* g = c.grad.data();
  const std::size_t count = c.param.size();
  const sgd_numbers k = n;
  const float own = k.nesterov ? 1.0F : 0.0F, of_moment = k.nesterov ? k.momentum : 1.0F;
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) {
    const float d = g[i] * k.scale + k.decay * p[i];
    const float moment = k.momentum * m[i] + d;
    m[i] = moment;
    p[i] -= k.rate * (own * d + of_moment * moment);
  }
}

struct adam_numbers {
  float scale, decay;  // decay of the gradient
  float kept;          // what decoupled decay leaves of the parameter
  float beta1, rest1, beta2, rest2;
  float root2;               // sqrt(1 - beta2^t)
  float epsilon, step_size;  // rate / (1 - beta1^t)
};

PERIGEE_CLONES void adam(const update_call& c, const adam_numbers& n) {
  float* p = c.param.data();
  float* first = c.moment1.data();
  float* second = c.moment2.data();
  const float* g = c.grad.data();
  const std::size_t count = c.param.size();
  const adam_numbers k = n;
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) {
    const float d = g[i] * k.scale + k.decay * p[i];
    const float m1 = k.beta1 * first[i] + k.rest1 * d;
    const float m2 = k.beta2 * second[i] + k.rest2 * (d * d);
    first[i] = m1;
    second[i] = m2;
    p[i] = p[i] * k.kept - k.step_size * (m1 / (std::sqrt(m2) / k.root2 + k.epsilon));
  }
}

adam_numbers numbers_of(const optimizer_spec& s, const update_call& c) {
  const bool decoupled = s.kind == optimizer_kind::adamw;
  const std::uint64_t t = c.step + 1;
  const auto f32 = [](double x) { return static_cast<float>(x); };
  return {.scale = f32(c.scale),
          .decay = decoupled ? 0.0F : f32(s.weight_decay),
          .kept = decoupled ? f32(1 - c.rate * s.weight_decay) : 1.0F,
          .beta1 = f32(s.beta1),
          .rest1 = f32(1 - s.beta1),
          .beta2 = f32(s.beta2),
          .rest2 = f32(1 - s.beta2),
          .root2 = f32(std::sqrt(1 - whole_power(s.beta2, t))),
          .epsilon = f32(s.epsilon),
          .step_size = f32(c.rate / (1 - whole_power(s.beta1, t)))};
}

}  // namespace

std::uint32_t optimizer::moment_count() const noexcept {
  if (spec_.kind != optimizer_kind::sgd) return 2;
  return spec_.momentum != 0 ? 1 : 0;
}

void optimizer::update(const update_call& call) const {
  CHECK(call.grad.size() == call.param.size());
  CHECK(call.moment1.size() == (moment_count() >= 1 ? call.param.size() : 0));
  CHECK(call.moment2.size() == (moment_count() >= 2 ? call.param.size() : 0));
  if (spec_.kind != optimizer_kind::sgd) return adam(call, numbers_of(spec_, call));
  const sgd_numbers numbers{static_cast<float>(call.rate), static_cast<float>(call.scale),
                            static_cast<float>(spec_.momentum),
                            static_cast<float>(spec_.weight_decay), spec_.nesterov};
  moment_count() == 0 ? sgd_plain(call, numbers) : sgd_momentum(call, numbers);
}

double whole_power(double base, std::uint64_t exponent) noexcept {
  double power = 1;
  for (double square = base; exponent != 0; exponent >>= 1U, square *= square)
    if ((exponent & 1U) != 0) power *= square;
  return power;
}

}  // namespace perigee::kernels
