// Activations: out = f(in), element by element.
//
// Each kind is a struct with `value(x)` and `gradient(v, g)`: g times the slope, where v is the
// output (if `of_output`) or the input. Where the output says enough, the input's memory is free
// before backward, and the operator may run in place.
//
// A NaN stays a NaN in every kind: a model that has gone wrong must be seen to have.
#include "kernels/ops/ops.hpp"
#include "kernels/ops/shape_check.hpp"
#include "kernels/ops/vector_math.hpp"

namespace perigee::kernels {
namespace {

struct relu {
  static constexpr bool of_output = true;
  static PERIGEE_INLINE float value(float x) { return x < 0 ? 0.0F : x; }
  static PERIGEE_INLINE float gradient(float y, float g) { return y <= 0 ? 0.0F : g; }
};

/// min(max(x, 0), 6); the slope at 0 and at 6 is 0, as PyTorch has it.
struct relu6 {
  static constexpr bool of_output = true;
  static PERIGEE_INLINE float value(float x) {
    const float low = x < 0 ? 0.0F : x;
    return low > 6 ? 6.0F : low;
  }
  static PERIGEE_INLINE float gradient(float y, float g) {
    const float low = y <= 0 ? 0.0F : g;
    return y >= 6 ? 0.0F : low;
  }
};

/// x/2 (1 + erf(x / sqrt 2)) = x times the share of the normal distribution below x
struct gelu_erf {
  static constexpr bool of_output = false;
  static constexpr float one_by_sqrt_two_pi = 0.398942280F;
  static PERIGEE_INLINE float bell(float x) { return vector_exp(-0.5F * (x * x)); }
  static PERIGEE_INLINE float value(float x) { return x * normal_share(x, bell(x)); }
  static PERIGEE_INLINE float gradient(float x, float g) {
    const float b = bell(x);
    return g * (normal_share(x, b) + x * (b * one_by_sqrt_two_pi));
  }
};

/// x/2 (1 + tanh u), u = sqrt(2/pi) (x + 0.044715 x³); since (1 + tanh u) / 2 = sigmoid(2u), one
/// exponential and one division do.
struct gelu_tanh {
  static constexpr bool of_output = false;
  static constexpr float twice = 1.595769122F;  // 2 sqrt(2/pi)
  static constexpr float cubic = 0.071354816F;  // 2 sqrt(2/pi) 0.044715
  static constexpr float cubic_slope = 3.0F * cubic;
  static PERIGEE_INLINE float share(float x) {
    return vector_sigmoid(x * (twice + cubic * (x * x)));
  }
  static PERIGEE_INLINE float value(float x) { return x * share(x); }
  static PERIGEE_INLINE float gradient(float x, float g) {
    const float s = share(x);
    return g * (s + x * (s * (1.0F - s)) * (twice + cubic_slope * (x * x)));
  }
};

struct sigmoid {
  static constexpr bool of_output = true;
  static PERIGEE_INLINE float value(float x) { return vector_sigmoid(x); }
  static PERIGEE_INLINE float gradient(float y, float g) { return g * (y * (1.0F - y)); }
};

/// x sigmoid(x)
struct silu {
  static constexpr bool of_output = false;
  static PERIGEE_INLINE float value(float x) { return x * vector_sigmoid(x); }
  static PERIGEE_INLINE float gradient(float x, float g) {
    const float s = vector_sigmoid(x);
    return g * (s * (1.0F + x * (1.0F - s)));
  }
};

struct tanh_kind {
  static constexpr bool of_output = true;
  static PERIGEE_INLINE float value(float x) { return vector_tanh(x); }
  static PERIGEE_INLINE float gradient(float y, float g) { return g * (1.0F - y * y); }
};

/// x min(max(x + 3, 0), 6) / 6; the slope at -3 is that of the parabola and at 3 too, as PyTorch
/// has it.
struct hardswish {
  static constexpr bool of_output = false;
  static PERIGEE_INLINE float value(float x) { return x * relu6::value(x + 3.0F) / 6.0F; }
  static PERIGEE_INLINE float gradient(float x, float g) {
    const float middle = g * (x / 3.0F + 0.5F);
    const float left = x < -3 ? 0.0F : middle;
    return x > 3 ? g : left;
  }
};

template <class Kind>
PERIGEE_INLINE void apply(const float* x, float* y, std::size_t count) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) y[i] = Kind::value(x[i]);
}

template <class Kind>
PERIGEE_INLINE void apply_gradient(const op_call& c, std::size_t count) {
  const float* v = Kind::of_output ? c.out[0] : static_cast<const float*>(c.in[0]);
  const float* dy = c.dout[0];
  float* dx = c.din[0];
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) dx[i] = Kind::gradient(v[i], dy[i]);
}

/// Calls `use` with a value of the kind's type.
template <class Use>
PERIGEE_INLINE void with_kind(activation_kind kind, const Use& use) {
  switch (kind) {
    case activation_kind::relu:
      return use(relu{});
    case activation_kind::relu6:
      return use(relu6{});
    case activation_kind::gelu_erf:
      return use(gelu_erf{});
    case activation_kind::gelu_tanh:
      return use(gelu_tanh{});
    case activation_kind::sigmoid:
      return use(sigmoid{});
    case activation_kind::silu:
      return use(silu{});
    case activation_kind::tanh:
      return use(tanh_kind{});
    case activation_kind::hardswish:
      return use(hardswish{});
  }
}

PERIGEE_CLONES void activation_forward(activation_kind kind, const op_call& c, std::size_t count) {
  const auto* x = static_cast<const float*>(c.in[0]);
  float* y = c.out[0];
  with_kind(kind, [&](auto k) PERIGEE_INLINE_LAMBDA { apply<decltype(k)>(x, y, count); });
}

PERIGEE_CLONES void activation_backward(activation_kind kind, const op_call& c, std::size_t count) {
  with_kind(kind, [&](auto k) PERIGEE_INLINE_LAMBDA { apply_gradient<decltype(k)>(c, count); });
}

class activation_op final : public op {
public:
  explicit activation_op(const activation_shape& s)
      : kind_(s.kind), count_(static_cast<std::size_t>(s.count)) {
    bool of_output = false;
    with_kind(kind_, [&](auto k) { of_output = decltype(k)::of_output; });
    needs_.out_count = {count_};
    needs_.backward_reads_in = {!of_output};
    needs_.backward_reads_out = of_output;
    needs_.in_place = of_output;
    const bool cheap = kind_ == activation_kind::relu || kind_ == activation_kind::relu6 ||
                       kind_ == activation_kind::hardswish;
    needs_.forward_work = (cheap ? 2 : 30) * count_;
    needs_.backward_work = (cheap ? 2 : 40) * count_;
  }
  [[nodiscard]] const op_needs& needs() const noexcept override { return needs_; }
  void forward(const op_call& c) override { activation_forward(kind_, c, count_); }
  void backward_inputs(const op_call& c) override {
    if (c.din[0] != nullptr) activation_backward(kind_, c, count_);
  }

private:
  activation_kind kind_;
  std::size_t count_;
  op_needs needs_;
};

}  // namespace

result<op_ptr> make_activation(const activation_shape& s) {
  if (auto wrong = wrong_count("activation", s.count)) return *wrong;
  if (s.kind > activation_kind::hardswish)
    return error{errc::unsupported,
                 "activation: kind " + std::to_string(static_cast<int>(s.kind)) + " is not known"};
  return op_ptr(std::make_unique<activation_op>(s));
}

}  // namespace perigee::kernels
