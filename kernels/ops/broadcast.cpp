// a + b or a * b with NumPy's broadcasting.
//
//   forward   out = a (op) b over the joint shape
//   backward  da = sum of dout (* b) over the dimensions in which a was repeated; db likewise.
//             Overwritten. The sum is a left fold over the runs of the innermost dimension, and
//             inside a run over sixteen lanes.
//
// Dimensions over which both tensors go on evenly are merged, so that the innermost run is as long
// as it can be: a bias has two dimensions, equal shapes have one.
#include "kernels/ops/ops.hpp"
#include "kernels/ops/shape_check.hpp"
#include "kernels/ops/vector_math.hpp"

#include <algorithm>

namespace perigee::kernels {
namespace {

/// A dimension of the result, and how far one step along it moves in a and in b (0 = repeated).
struct joint_dimension {
  std::size_t size = 1, a = 0, b = 0;
};

/// Returns the joint dimensions, innermost last, merged; empty if the shapes do not fit.
std::vector<joint_dimension> joint_dimensions(const broadcast_shape& s) {
  const std::size_t rank = std::max(s.a.size(), s.b.size());
  std::vector<joint_dimension> all;  // innermost first
  std::size_t a_stride = 1, b_stride = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    const auto at = [i](const std::vector<std::int64_t>& shape) {
      return i < shape.size() ? static_cast<std::size_t>(shape[shape.size() - 1 - i]) : 1;
    };
    const std::size_t a = at(s.a), b = at(s.b);
    if (a != b && a != 1 && b != 1) return {};
    const joint_dimension next{std::max(a, b), a == 1 ? 0 : a_stride, b == 1 ? 0 : b_stride};
    a_stride *= a;
    b_stride *= b;
    if (next.size == 1) continue;
    if (!all.empty() && next.a == all.back().a * all.back().size &&
        next.b == all.back().b * all.back().size)
      all.back().size *= next.size;
    else
      all.push_back(next);
  }
  if (all.empty()) all.push_back({1, 1, 1});
  std::reverse(all.begin(), all.end());
  return all;
}

/// Calls `use(a offset, b offset, out offset)` for each innermost run, in row-major order.
template <class Use>
void for_each_run(const std::vector<joint_dimension>& all, const Use& use) {
  std::vector<std::size_t> index(all.size(), 0);
  std::size_t a = 0, b = 0, out = 0;
  while (true) {
    use(a, b, out);
    out += all.back().size;
    std::size_t d = all.size() - 1;  // the innermost dimension is the run itself
    while (d-- > 0) {
      a += all[d].a, b += all[d].b;
      if (++index[d] < all[d].size) break;
      a -= all[d].a * all[d].size, b -= all[d].b * all[d].size;
      index[d] = 0;
    }
    if (d == static_cast<std::size_t>(-1)) return;
  }
}

struct run {
  const float* a;
  std::size_t a_step;  // 0 or 1
  const float* b;
  std::size_t b_step;
  std::size_t count;
};

PERIGEE_CLONES void add_run(const run& r, float* y) {
  if (r.a_step == 1 && r.b_step == 1) {
    for (std::size_t i = 0; i < r.count; ++i) y[i] = r.a[i] + r.b[i];
  } else {
    const float* many = r.a_step == 1 ? r.a : r.b;
    const float one = r.a_step == 1 ? *r.b : *r.a;
    for (std::size_t i = 0; i < r.count; ++i) y[i] = many[i] + one;
  }
}

PERIGEE_CLONES void multiply_run(const run& r, float* y) {
  if (r.a_step == 1 && r.b_step == 1) {
    for (std::size_t i = 0; i < r.count; ++i) y[i] = r.a[i] * r.b[i];
  } else {
    const float* many = r.a_step == 1 ? r.a : r.b;
    const float one = r.a_step == 1 ? *r.b : *r.a;
    for (std::size_t i = 0; i < r.count; ++i) y[i] = many[i] * one;
  }
}

/// d += g, summed over the run if d does not move
PERIGEE_CLONES void add_gradient(const float* g, std::size_t count, float* d, std::size_t step) {
  if (step == 1) {
    for (std::size_t i = 0; i < count; ++i) d[i] += g[i];
  } else {
    *d += lane_sum(count, [&](const auto& at) PERIGEE_INLINE_LAMBDA { return at(g); });
  }
}

/// The same for d += g * other; r.a is g, r.b is the other operand
PERIGEE_CLONES void multiply_gradient(const run& r, float* d, std::size_t step) {
  if (step == 1 && r.b_step == 1) {
    for (std::size_t i = 0; i < r.count; ++i) d[i] += r.a[i] * r.b[i];
  } else if (step == 1) {
    const float other = *r.b;
    for (std::size_t i = 0; i < r.count; ++i) d[i] += r.a[i] * other;
  } else if (r.b_step == 1) {
    *d +=
        lane_sum(r.count, [&](const auto& at) PERIGEE_INLINE_LAMBDA { return at(r.a) * at(r.b); });
  } else {
    *d += *r.b * lane_sum(r.count, [&](const auto& at) PERIGEE_INLINE_LAMBDA { return at(r.a); });
  }
}

class broadcast_op final : public op {
public:
  broadcast_op(const broadcast_shape& s, std::vector<joint_dimension> all)
      : multiply_(s.kind == broadcast_kind::multiply),
        a_count_(count_of(s.a)),
        b_count_(count_of(s.b)),
        all_(std::move(all)) {
    std::size_t count = 1;
    for (const joint_dimension& d : all_) count *= d.size;
    needs_.out_count = {count};
    needs_.backward_reads_in = {multiply_, multiply_};
    needs_.forward_work = count;
    needs_.backward_work = (multiply_ ? 4 : 2) * count;
  }
  [[nodiscard]] const op_needs& needs() const noexcept override { return needs_; }

  void forward(const op_call& c) override {
    const joint_dimension& last = all_.back();
    for_each_run(all_, [&](std::size_t a, std::size_t b, std::size_t out) {
      const run r{operand(c, 0) + a, last.a, operand(c, 1) + b, last.b, last.size};
      multiply_ ? multiply_run(r, c.out[0] + out) : add_run(r, c.out[0] + out);
    });
  }

  void backward_inputs(const op_call& c) override {
    const joint_dimension& last = all_.back();
    if (c.din[0] != nullptr) {
      std::fill_n(c.din[0], a_count_, 0.0F);
      for_each_run(all_, [&](std::size_t a, std::size_t b, std::size_t out) {
        gradient(c.dout[0] + out, multiply_ ? operand(c, 1) + b : nullptr, last.b, c.din[0] + a,
                 last.a);
      });
    }
    if (c.din[1] != nullptr) {
      std::fill_n(c.din[1], b_count_, 0.0F);
      for_each_run(all_, [&](std::size_t a, std::size_t b, std::size_t out) {
        gradient(c.dout[0] + out, multiply_ ? operand(c, 0) + a : nullptr, last.a, c.din[1] + b,
                 last.b);
      });
    }
  }

private:
  static const float* operand(const op_call& c, std::size_t i) {
    return static_cast<const float*>(c.in[i]);
  }
  void gradient(const float* g, const float* other, std::size_t other_step, float* d,
                std::size_t step) const {
    const std::size_t count = all_.back().size;
    if (other == nullptr)
      add_gradient(g, count, d, step);
    else
      multiply_gradient({g, 1, other, other_step, count}, d, step);
  }

  bool multiply_;
  std::size_t a_count_, b_count_;
  std::vector<joint_dimension> all_;
  op_needs needs_;
};

}  // namespace

result<op_ptr> make_broadcast(const broadcast_shape& s) {
  if (auto wrong = wrong_tensor("broadcast", "a", s.a)) return *wrong;
  if (auto wrong = wrong_tensor("broadcast", "b", s.b)) return *wrong;
  std::vector<joint_dimension> all = joint_dimensions(s);
  if (all.empty())
    return error{errc::malformed, "broadcast: shapes " + shape_text(s.a) + " and " +
                                      shape_text(s.b) + " do not fit"};
  return op_ptr(std::make_unique<broadcast_op>(s, std::move(all)));
}

}  // namespace perigee::kernels
