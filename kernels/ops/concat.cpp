// Tensors joined along one axis: forward copies blocks in, backward copies them out (overwritten).
#include "kernels/ops/ops.hpp"
#include "kernels/ops/shape_check.hpp"

#include <algorithm>
#include <numeric>

namespace perigee::kernels {
namespace {

class concat_op final : public op {
public:
  explicit concat_op(const concat_shape& s) {
    const auto axis = static_cast<std::size_t>(s.axis);
    outer_ = count_of(std::span(s.in[0]).first(axis));
    for (const auto& shape : s.in) blocks_.push_back(count_of(std::span(shape).subspan(axis)));
    total_ = std::accumulate(blocks_.begin(), blocks_.end(), std::size_t{0});
    needs_.out_count = {outer_ * total_};
    needs_.backward_reads_in.assign(s.in.size(), false);
    needs_.forward_work = needs_.backward_work = outer_ * total_;
  }
  [[nodiscard]] const op_needs& needs() const noexcept override { return needs_; }

  void forward(const op_call& c) override {
    for_each_block([&](std::size_t k, std::size_t there, std::size_t joined) {
      std::copy_n(static_cast<const float*>(c.in[k]) + there, blocks_[k], c.out[0] + joined);
    });
  }
  void backward_inputs(const op_call& c) override {
    for_each_block([&](std::size_t k, std::size_t there, std::size_t joined) {
      if (c.din[k] != nullptr) std::copy_n(c.dout[0] + joined, blocks_[k], c.din[k] + there);
    });
  }

private:
  /// Calls use(input, offset in it, offset in the joined tensor) for each block.
  template <class Use>
  void for_each_block(const Use& use) const {
    for (std::size_t o = 0; o < outer_; ++o) {
      std::size_t joined = o * total_;
      for (std::size_t k = 0; k < blocks_.size(); ++k) {
        use(k, o * blocks_[k], joined);
        joined += blocks_[k];
      }
    }
  }

  std::size_t outer_ = 1, total_ = 0;
  std::vector<std::size_t> blocks_;  // values of each input that lie together
  op_needs needs_;
};

}  // namespace

result<op_ptr> make_concat(const concat_shape& s) {
  if (s.in.empty()) return error{errc::malformed, "concat: no inputs"};
  const auto rank = static_cast<std::int64_t>(s.in[0].size());
  if (s.axis < 0 || s.axis >= rank)
    return error{errc::malformed, "concat: axis is " + std::to_string(s.axis) + ", not in [0, " +
                                      std::to_string(rank) + ")"};
  for (std::size_t k = 0; k < s.in.size(); ++k) {
    const std::string which = "input " + std::to_string(k);
    if (auto wrong = wrong_tensor("concat", which, s.in[k])) return *wrong;
    std::vector<std::int64_t> shape = s.in[k];
    if (shape.size() == s.in[0].size())
      shape[static_cast<std::size_t>(s.axis)] = s.in[0][static_cast<std::size_t>(s.axis)];
    if (shape != s.in[0])
      return error{errc::malformed, "concat: " + which + " is " + shape_text(s.in[k]) +
                                        ", which does not join " + shape_text(s.in[0]) +
                                        " along axis " + std::to_string(s.axis)};
  }
  return op_ptr(std::make_unique<concat_op>(s));
}

}  // namespace perigee::kernels
