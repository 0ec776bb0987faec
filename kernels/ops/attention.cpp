// Multi-head scaled dot-product attention, one head of one sample at a time.
//
//   forward   S = scale q kᵀ, P = softmax of each row of S, out = P v
//   backward  dP = dout vᵀ,  dS = P (dP - sum over the row of P dP)
//             dv = Pᵀ dout,  dq = scale dS k,  dk = scale dSᵀ q         overwritten
//
// Rows are taken in blocks of 64. A causal block computes the columns up to its last row only, so
// that for long contexts half of the work is skipped. Products are oneDNN's sgemm on one thread.
//
// Saved       for each row the largest score and 1 / sum: 8 bytes a row and head, where P would be
//             4 T. Backward computes S again (one product more than the five it has anyway) and
//             gets the very bits of forward's P. For GPT d384 T256 that costs some 2 % of a step
//             and saves 12 MiB a layer for each micro-batch in flight.
// Bits        the same for a sample wherever in the batch it lies.
#include "kernels/engine.hpp"
#include "kernels/ops/ops.hpp"
#include "kernels/ops/shape_check.hpp"
#include "kernels/ops/softmax_row.hpp"

#include <dnnl.h>

#include <omp.h>

#include <algorithm>
#include <cmath>

namespace perigee::kernels {
namespace {

constexpr std::size_t block_rows = 64;

/// Rows of one head inside a larger tensor: row r starts at data + r * step.
template <class Float>
struct strided {
  Float* data = nullptr;
  std::size_t step = 0;
  [[nodiscard]] strided from(std::size_t row) const { return {data + row * step, step}; }
};
using source = strided<const float>;
using target = strided<float>;

/// Returns rows of a head, or a block of scores, as a factor of a product.
factor times(const source& m, order as = order::plain) {
  return {m.data, static_cast<std::int64_t>(m.step), as};
}

struct product_size {
  std::size_t rows, columns, inner;
};

/// to[rows,columns] = a[rows,inner] · b[inner,columns], or to + that
void multiply_to(const target& to, const product_size& size, const factor& a, const factor& b,
                 into how = into::overwrite) {
  multiply({.M = static_cast<std::int64_t>(size.rows),
            .N = static_cast<std::int64_t>(size.columns),
            .K = static_cast<std::int64_t>(size.inner),
            .a = a,
            .b = b,
            .how = how,
            .out = to.data,
            .out_stride = static_cast<std::int64_t>(to.step)});
}

/// One block of rows: rows [first, first + rows) against columns [0, width).
struct score_block {
  std::size_t first, rows, width;
  bool causal;
  float scale;
  [[nodiscard]] PERIGEE_INLINE std::size_t visible(std::size_t row) const {
    return causal ? first + row + 1 : width;
  }
};

/// s[rows,width] <- e^(scale s - largest), 0 where masked; `rows_scale` is written
PERIGEE_CLONES void exponentiate(const score_block& b, float* s, row_scale* rows_scale) {
  for (std::size_t i = 0; i < b.rows; ++i) {
    float* row = s + i * b.width;
    const std::size_t n = b.visible(i);
    for (std::size_t j = 0; j < n; ++j) row[j] *= b.scale;
    rows_scale[i] = exponentials(row, row, n);
    std::fill(row + n, row + b.width, 0.0F);
  }
}

PERIGEE_CLONES void scale_rows(const target& out, const score_block& b, std::size_t D,
                               const row_scale* rows_scale) {
  for (std::size_t i = 0; i < b.rows; ++i) {
    float* row = out.data + i * out.step;
    for (std::size_t j = 0; j < D; ++j) row[j] *= rows_scale[i].inverse_sum;
  }
}

/// s <- P, dp <- scale P (dp - sum of P dp); both 0 where masked
PERIGEE_CLONES void score_gradient(const score_block& b, float* s, float* dp,
                                   const row_scale* rows_scale) {
  for (std::size_t i = 0; i < b.rows; ++i) {
    float* p = s + i * b.width;
    float* d = dp + i * b.width;
    const std::size_t n = b.visible(i);
    const row_scale row = rows_scale[i];
#pragma GCC ivdep
    for (std::size_t j = 0; j < n; ++j)
      p[j] = vector_exp(p[j] * b.scale - row.largest) * row.inverse_sum;
    const float dot =
        lane_sum(n, [&](const auto& at) PERIGEE_INLINE_LAMBDA { return at(p) * at(d); });
#pragma GCC ivdep
    for (std::size_t j = 0; j < n; ++j) d[j] = p[j] * (d[j] - dot) * b.scale;
    std::fill(p + n, p + b.width, 0.0F);
    std::fill(d + n, d + b.width, 0.0F);
  }
}

class attention_op final : public op {
public:
  explicit attention_op(const attention_shape& s)
      : B_(static_cast<std::size_t>(s.B)),
        T_(static_cast<std::size_t>(s.T)),
        heads_(static_cast<std::size_t>(s.heads)),
        D_(static_cast<std::size_t>(s.D)),
        causal_(s.causal),
        packed_(s.packed),
        scale_(s.scale != 0 ? s.scale : 1.0F / std::sqrt(static_cast<float>(s.D))) {
    const std::size_t count = B_ * T_ * heads_ * D_;
    needs_.out_count = {count};
    needs_.saved_bytes = {B_ * heads_ * T_ * sizeof(row_scale)};
    needs_.scratch_bytes = 2 * std::min(block_rows, T_) * T_ * sizeof(float);
    needs_.backward_reads_in.assign(packed_ ? 1 : 3, true);
    std::size_t scores = 0;  // computed for each head
    for (std::size_t r = 0; r < T_; r += block_rows) scores += block_at(r).rows * block_at(r).width;
    const std::size_t product_work = 2 * B_ * heads_ * scores * D_;
    needs_.forward_work = 2 * product_work + 24 * B_ * heads_ * scores;
    needs_.backward_work = 5 * product_work + 28 * B_ * heads_ * scores;
  }
  [[nodiscard]] const op_needs& needs() const noexcept override { return needs_; }

  void forward(const op_call& c) override {
    for (std::size_t head = 0; head < B_ * heads_; ++head) forward_head(c, head);
  }
  void backward_inputs(const op_call& c) override {
    if (packed_ && c.din[0] == nullptr) return;
    for (std::size_t head = 0; head < B_ * heads_; ++head) backward_head(c, head);
  }

private:
  [[nodiscard]] score_block block_at(std::size_t first) const {
    const std::size_t rows = std::min(block_rows, T_ - first);
    return {first, rows, causal_ ? first + rows : T_, causal_, scale_};
  }

  /// Returns input `which` (q, k, v) of a head, or the gradient of it (null if not wanted).
  template <class Float, class Pointer>
  [[nodiscard]] strided<Float> part(std::span<Pointer const> all, std::size_t which,
                                    std::size_t head) const {
    if (!packed_) {
      auto* data = static_cast<Float*>(all[which]);
      return {data == nullptr ? nullptr : data + head * T_ * D_, D_};
    }
    const std::size_t width = heads_ * D_, b = head / heads_, h = head % heads_;
    return {static_cast<Float*>(all[0]) + b * T_ * 3 * width + which * width + h * D_, 3 * width};
  }
  template <class Float>
  [[nodiscard]] strided<Float> result_of(Float* all, std::size_t head) const {
    if (!packed_) return {all + head * T_ * D_, D_};
    const std::size_t width = heads_ * D_, b = head / heads_, h = head % heads_;
    return {all + b * T_ * width + h * D_, width};
  }

  void forward_head(const op_call& c, std::size_t head) const {
    const auto q = part<const float>(c.in, 0, head);
    const auto k = part<const float>(c.in, 1, head);
    const auto v = part<const float>(c.in, 2, head);
    const target out = result_of(c.out[0], head);
    auto* s = reinterpret_cast<float*>(c.scratch);
    auto* saved = reinterpret_cast<row_scale*>(c.saved[0]) + head * T_;
    for (std::size_t r = 0; r < T_; r += block_rows) {
      const score_block b = block_at(r);
      multiply_to({s, b.width}, {b.rows, b.width, D_}, times(q.from(r)),
                  times(k, order::transposed));
      exponentiate(b, s, saved + r);
      multiply_to(out.from(r), {b.rows, D_, b.width}, times({s, b.width}), times(v));
      scale_rows(out.from(r), b, D_, saved + r);
    }
  }

  /// From the last block, which sees all columns and so overwrites all of dk and dv, to the first.
  void backward_head(const op_call& c, std::size_t head) const {
    const auto q = part<const float>(c.in, 0, head);
    const auto k = part<const float>(c.in, 1, head);
    const auto v = part<const float>(c.in, 2, head);
    const auto dq = part<float>(c.din, 0, head);
    const auto dk = part<float>(c.din, 1, head);
    const auto dv = part<float>(c.din, 2, head);
    const source dout = result_of(c.dout[0], head);
    auto* s = reinterpret_cast<float*>(c.scratch);
    const auto* saved = reinterpret_cast<const row_scale*>(c.saved[0]) + head * T_;
    const std::size_t last = (T_ - 1) / block_rows * block_rows;
    for (std::size_t r = last + block_rows; r != 0;) {
      r -= block_rows;
      const score_block b = block_at(r);
      float* dp = s + b.rows * b.width;
      const into how = r == last ? into::overwrite : into::accumulate;
      const product_size scores{b.rows, b.width, D_}, columns{b.width, D_, b.rows};
      multiply_to({s, b.width}, scores, times(q.from(r)), times(k, order::transposed));
      multiply_to({dp, b.width}, scores, times(dout.from(r)), times(v, order::transposed));
      score_gradient(b, s, dp, saved + r);
      const source p{s, b.width}, ds{dp, b.width};
      if (dv.data) multiply_to(dv, columns, times(p, order::transposed), times(dout.from(r)), how);
      if (dq.data) multiply_to(dq.from(r), {b.rows, D_, b.width}, times(ds), times(k));
      if (dk.data) multiply_to(dk, columns, times(ds, order::transposed), times(q.from(r)), how);
    }
  }

  std::size_t B_, T_, heads_, D_;
  bool causal_, packed_;
  float scale_;
  op_needs needs_;
};

}  // namespace

result<op_ptr> make_attention(const attention_shape& s) {
  if (auto wrong =
          wrong_dimension("attention", {{"B", s.B}, {"T", s.T}, {"heads", s.heads}, {"D", s.D}}))
    return *wrong;
  if (!std::isfinite(s.scale)) return error{errc::malformed, "attention: scale is not finite"};
  return op_ptr(std::make_unique<attention_op>(s));
}

}  // namespace perigee::kernels
