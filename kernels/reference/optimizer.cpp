#include "kernels/reference/flat.hpp"

#include <cmath>

namespace perigee::kernels::reference {
namespace {

double f64(float x) { return static_cast<double>(x); }
float f32(double x) { return static_cast<float>(x); }

void sgd(const optimizer_spec& s, const update_call& c, std::size_t i) {
  double d = f64(c.grad[i]) * c.scale + s.weight_decay * f64(c.param[i]);
  if (s.momentum != 0) {
    const double m = s.momentum * f64(c.moment1[i]) + d;
    c.moment1[i] = f32(m);
    d = s.nesterov ? d + s.momentum * m : m;
  }
  c.param[i] = f32(f64(c.param[i]) - c.rate * d);
}

void adam(const optimizer_spec& s, const update_call& c, std::size_t i) {
  const auto t = static_cast<double>(c.step + 1);
  double p = f64(c.param[i]), d = f64(c.grad[i]) * c.scale;
  if (s.kind == optimizer_kind::adamw)
    p -= c.rate * s.weight_decay * p;
  else
    d += s.weight_decay * p;
  const double m1 = s.beta1 * f64(c.moment1[i]) + (1 - s.beta1) * d;
  const double m2 = s.beta2 * f64(c.moment2[i]) + (1 - s.beta2) * d * d;
  c.moment1[i] = f32(m1);
  c.moment2[i] = f32(m2);
  const double first = m1 / (1 - std::pow(s.beta1, t));
  const double second = m2 / (1 - std::pow(s.beta2, t));
  c.param[i] = f32(p - c.rate * first / (std::sqrt(second) + s.epsilon));
}

}  // namespace

void update(const optimizer_spec& spec, const update_call& call) {
  for (std::size_t i = 0; i < call.param.size(); ++i)
    spec.kind == optimizer_kind::sgd ? sgd(spec, call, i) : adam(spec, call, i);
}

}  // namespace perigee::kernels::reference
