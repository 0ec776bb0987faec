// Embedding: rows of a table chosen by number, with a learned position added if asked.
//
//   forward   out[R,C] = weight[ids[R]] (+ position[r mod T])
//   backward  dweight[ids[r]] += dout[r], dposition[r mod T] += dout[r], for r = 0, 1, …: straight
//             into what is there, since a table is far larger than what one micro-batch touches
#include "kernels/ops/ops.hpp"
#include "kernels/ops/shape_check.hpp"
#include "kernels/ops/vector_math.hpp"

#include <algorithm>

namespace perigee::kernels {
namespace {

struct embedding_rows {
  std::size_t R = 0, V = 0, C = 0, T = 0;
};

/// Returns the first value of the row that ids[r] names; the data layer sees to it that it exists.
PERIGEE_INLINE std::size_t row_of(const embedding_rows& s, const op_call& c, std::size_t r) {
  const std::int32_t id = static_cast<const std::int32_t*>(c.in[0])[r];
  CHECK(id >= 0 && static_cast<std::size_t>(id) < s.V);
  return static_cast<std::size_t>(id) * s.C;
}

PERIGEE_CLONES void embedding_forward(const embedding_rows& s, const op_call& c) {
  for (std::size_t r = 0; r < s.R; ++r) {
    const float* row = c.param[0] + row_of(s, c, r);
    float* y = c.out[0] + r * s.C;
    if (s.T == 0) {
      std::copy_n(row, s.C, y);
      continue;
    }
    const float* position = c.param[1] + r % s.T * s.C;
#pragma GCC ivdep
    for (std::size_t i = 0; i < s.C; ++i) y[i] = row[i] + position[i];
  }
}

PERIGEE_INLINE void add_row(float* total, const float* part, std::size_t count) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) total[i] += part[i];
}

PERIGEE_CLONES void embedding_backward(const embedding_rows& s, const op_call& c) {
  for (std::size_t r = 0; r < s.R; ++r) {
    add_row(c.dparam[0] + row_of(s, c, r), c.dout[0] + r * s.C, s.C);
    if (s.T != 0) add_row(c.dparam[1] + r % s.T * s.C, c.dout[0] + r * s.C, s.C);
  }
}

class embedding_op final : public op {
public:
  explicit embedding_op(const embedding_shape& s)
      : rows_{static_cast<std::size_t>(s.R), static_cast<std::size_t>(s.V),
              static_cast<std::size_t>(s.C), static_cast<std::size_t>(s.T)} {
    needs_.out_count = {rows_.R * rows_.C};
    needs_.param_count = {rows_.V * rows_.C};
    if (rows_.T != 0) needs_.param_count.push_back(rows_.T * rows_.C);
    needs_.backward_reads_in = {true};
    needs_.forward_work = rows_.R * rows_.C;
    needs_.backward_work = (rows_.T != 0 ? 2 : 1) * rows_.R * rows_.C;
  }
  [[nodiscard]] const op_needs& needs() const noexcept override { return needs_; }
  void forward(const op_call& c) override { embedding_forward(rows_, c); }
  void backward_inputs(const op_call&) override {}  // numbers of rows have no gradient
  void backward_weights(const op_call& c) override { embedding_backward(rows_, c); }

private:
  embedding_rows rows_;
  op_needs needs_;
};

}  // namespace

result<op_ptr> make_embedding(const embedding_shape& s) {
  if (auto wrong = wrong_dimension("embedding", {{"R", s.R}, {"C", s.C}})) return *wrong;
  if (auto wrong = wrong_dimension("embedding", {{"V", s.V}, {"C", s.C}})) return *wrong;
  if (s.T != 0)
    if (auto wrong = wrong_dimension("embedding", {{"T", s.T}, {"C", s.C}})) return *wrong;
  return op_ptr(std::make_unique<embedding_op>(s));
}

}  // namespace perigee::kernels
