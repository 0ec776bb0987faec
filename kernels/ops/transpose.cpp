// Dimensions in another order: out dimension i is in dimension order[i]. Backward is the inverse
// permutation of dout, overwritten.
//
// Where the innermost dimension stays, its runs are copied whole. Where it moves, the plane of the
// old and the new innermost dimension is copied in square tiles, so that both sides keep their
// cache lines.
#include "kernels/ops/ops.hpp"
#include "kernels/ops/shape_check.hpp"

#include <algorithm>

namespace perigee::kernels {
namespace {

/// One permutation of one shape, ready to run. Dimensions are those of the result.
class permutation {
public:
  permutation(const std::vector<std::int64_t>& in, const std::vector<std::int64_t>& order) {
    const std::size_t rank = in.size();
    std::vector<std::size_t> in_step(rank, 1);
    for (std::size_t i = rank - 1; i-- > 0;)
      in_step[i] = in_step[i + 1] * static_cast<std::size_t>(in[i + 1]);
    size_.resize(rank), from_.resize(rank), to_.assign(rank, 1);
    for (std::size_t i = 0; i < rank; ++i) {
      const auto d = static_cast<std::size_t>(order[i]);
      size_[i] = static_cast<std::size_t>(in[d]);
      from_[i] = in_step[d];
      if (d == rank - 1) plane_ = i;
    }
    for (std::size_t i = rank - 1; i-- > 0;) to_[i] = to_[i + 1] * size_[i + 1];
  }

  void run(const float* x, float* y) const {
    std::vector<std::size_t> index(size_.size(), 0);
    const std::size_t last = size_.size() - 1;
    while (true) {
      plane_ == last ? void(std::copy_n(x, size_[last], y)) : copy_plane(x, y);
      std::size_t d = last;
      while (d-- > 0) {
        if (d == plane_) continue;
        x += from_[d], y += to_[d];
        if (++index[d] < size_[d]) break;
        x -= from_[d] * size_[d], y -= to_[d] * size_[d];
        index[d] = 0;
      }
      if (d == static_cast<std::size_t>(-1)) return;
    }
  }

private:
  void copy_plane(const float* x, float* y) const {
    constexpr std::size_t tile = 16;
    const std::size_t rows = size_[plane_], columns = size_.back();
    const std::size_t x_step = from_.back(), y_step = to_[plane_];
    for (std::size_t r = 0; r < rows; r += tile)
      for (std::size_t k = 0; k < columns; k += tile)
        for (std::size_t i = r; i < std::min(r + tile, rows); ++i)
          for (std::size_t j = k; j < std::min(k + tile, columns); ++j)
            y[i * y_step + j] = x[i + j * x_step];
  }

  std::vector<std::size_t> size_, from_, to_;  // of the result; steps in values
  std::size_t plane_ = 0;                      // where the old innermost dimension went
};

std::vector<std::int64_t> reordered(const transpose_shape& s) {
  std::vector<std::int64_t> out;
  for (const std::int64_t d : s.order) out.push_back(s.in[static_cast<std::size_t>(d)]);
  return out;
}

std::vector<std::int64_t> inverse(const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> out(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    out[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return out;
}

class transpose_op final : public op {
public:
  explicit transpose_op(const transpose_shape& s)
      : there_(s.in, s.order), back_(reordered(s), inverse(s.order)) {
    needs_.out_count = {count_of(s.in)};
    needs_.backward_reads_in = {false};
    needs_.forward_work = needs_.backward_work = count_of(s.in);
  }
  [[nodiscard]] const op_needs& needs() const noexcept override { return needs_; }
  void forward(const op_call& c) override {
    there_.run(static_cast<const float*>(c.in[0]), c.out[0]);
  }
  void backward_inputs(const op_call& c) override {
    if (c.din[0] != nullptr) back_.run(c.dout[0], c.din[0]);
  }

private:
  permutation there_, back_;
  op_needs needs_;
};

}  // namespace

result<op_ptr> make_transpose(const transpose_shape& s) {
  if (s.in.empty()) return error{errc::malformed, "transpose: no dimensions"};
  if (auto wrong = wrong_tensor("transpose", "the input", s.in)) return *wrong;
  std::vector<std::int64_t> sorted = s.order;
  std::sort(sorted.begin(), sorted.end());
  bool fits = sorted.size() == s.in.size();
  for (std::size_t i = 0; fits && i < sorted.size(); ++i)
    fits = sorted[i] == static_cast<std::int64_t>(i);
  if (!fits)
    return error{errc::malformed, "transpose: order " + shape_text(s.order) +
                                      " is no permutation of " + std::to_string(s.in.size()) +
                                      " dimensions"};
  return op_ptr(std::make_unique<transpose_op>(s));
}

}  // namespace perigee::kernels
