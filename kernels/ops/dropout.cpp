// Inverted dropout: out = in / (1 - probability) where a random word says so, else 0.
//
//   backward  din = dout / (1 - probability) at the same places: the words are drawn again.
//
// Sixty-four values take the four words of sixteen Philox blocks: value i of them takes word i / 16
// of block i mod 16, so that sixteen blocks run side by side in vectors. The key of a call is drawn
// from (seed, purpose, stream, micro-batch, step), the counter of a block is its number.
#include "kernels/ops/ops.hpp"
#include "kernels/ops/shape_check.hpp"
#include "kernels/ops/vector_math.hpp"
#include "proto/base/random.hpp"

namespace perigee::kernels {
namespace {

constexpr std::size_t lanes = 16, chunk = 4 * lanes;

constexpr std::uint32_t low_word(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
constexpr std::uint32_t high_word(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32U); }

philox_key key_of(const op_call& c, std::uint32_t stream) {
  const philox_counter place =
      philox4x32({static_cast<std::uint32_t>(purpose::dropout), stream, c.micro_batch, 0},
                 {low_word(c.seed), high_word(c.seed)});
  const philox_counter key =
      philox4x32({low_word(c.step), high_word(c.step), place[2], place[3]}, {place[0], place[1]});
  return {key[0], key[1]};
}

/// words[k][i] = word k of the Philox block with counter {first + i, 0, 0}, as philox4x32 has it;
/// `first` is a multiple of 16
PERIGEE_INLINE void sixteen_blocks(std::uint64_t first, philox_key key,
                                   std::uint32_t (&words)[4][lanes]) {
  for (std::uint32_t i = 0; i < lanes; ++i) {
    words[0][i] = low_word(first) + i;
    words[1][i] = high_word(first);
    words[2][i] = words[3][i] = 0;
  }
  std::uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; ++round, k0 += 0x9e3779b9U, k1 += 0xbb67ae85U) {
    for (std::size_t i = 0; i < lanes; ++i) {
      const std::uint64_t a = std::uint64_t{0xd2511f53U} * words[0][i];
      const std::uint64_t b = std::uint64_t{0xcd9e8d57U} * words[2][i];
      const std::uint32_t one = words[1][i], three = words[3][i];
      words[0][i] = static_cast<std::uint32_t>(b >> 32U) ^ one ^ k0;
      words[1][i] = static_cast<std::uint32_t>(b);
      words[2][i] = static_cast<std::uint32_t>(a >> 32U) ^ three ^ k1;
      words[3][i] = static_cast<std::uint32_t>(a);
    }
  }
}

struct mask_rule {
  std::uint32_t dropped_below = 0;  // words below it drop their value
  float scale = 1;
};

PERIGEE_CLONES void drop(const float* x, float* y, std::size_t count, philox_key key,
                         mask_rule rule) {
  std::uint32_t words[4][lanes];
  for (std::size_t first = 0; first < count; first += chunk) {
    sixteen_blocks(first / 4, key, words);
    const std::uint32_t* word = words[0];
    const std::size_t n = count - first < chunk ? count - first : chunk;
#pragma GCC ivdep
    for (std::size_t i = 0; i < n; ++i)
      y[first + i] = word[i] < rule.dropped_below ? 0.0F : x[first + i] * rule.scale;
  }
}

class dropout_op final : public op {
public:
  explicit dropout_op(const dropout_shape& s)
      : count_(static_cast<std::size_t>(s.count)), stream_(s.stream) {
    rule_.dropped_below = static_cast<std::uint32_t>(s.probability * 4294967296.0);
    rule_.scale = static_cast<float>(1.0 / (1.0 - s.probability));
    needs_.out_count = {count_};
    needs_.backward_reads_in = {false};
    needs_.in_place = true;
    needs_.forward_work = needs_.backward_work = 30 * count_;
  }
  [[nodiscard]] const op_needs& needs() const noexcept override { return needs_; }
  void forward(const op_call& c) override {
    drop(static_cast<const float*>(c.in[0]), c.out[0], count_, key_of(c, stream_), rule_);
  }
  void backward_inputs(const op_call& c) override {
    if (c.din[0] != nullptr) drop(c.dout[0], c.din[0], count_, key_of(c, stream_), rule_);
  }

private:
  std::size_t count_;
  std::uint32_t stream_;
  mask_rule rule_;
  op_needs needs_;
};

}  // namespace

result<op_ptr> make_dropout(const dropout_shape& s) {
  if (auto wrong = wrong_count("dropout", s.count)) return *wrong;
  if (!(s.probability >= 0 && s.probability < 1))
    return error{errc::malformed,
                 "dropout: probability is " + std::to_string(s.probability) + ", not in [0, 1)"};
  return op_ptr(std::make_unique<dropout_op>(s));
}

}  // namespace perigee::kernels
