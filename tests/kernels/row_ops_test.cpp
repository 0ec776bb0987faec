// Layer norm, softmax and embedding against plain loops, over random shapes.
#include "kernels/reference/rows.hpp"
#include "tests/kernels/baseline_ops.hpp"
#include "tests/kernels/subject.hpp"

namespace perigee::kernels::testing {
namespace {

// Sums of up to some hundred f32 values: a few units of the last place of the largest.
const subject<layer_norm_shape> layer_norm{make_layer_norm, baseline_make_layer_norm,
                                           reference::layer_norm_forward,
                                           reference::layer_norm_backward, 5e-6};
const subject<softmax_shape> softmax{make_softmax, baseline_make_softmax,
                                     reference::softmax_forward, reference::softmax_backward, 2e-6};
const subject<embedding_shape> embedding{make_embedding, baseline_make_embedding,
                                         reference::embedding_forward,
                                         reference::embedding_backward, 1e-6};

std::int64_t dimension(random& draw, std::uint64_t most) {
  return draw.below(4) == 0 ? 1 : 1 + static_cast<std::int64_t>(draw.below(most));
}
std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

operands layer_norm_operands(const layer_norm_shape& s, std::uint64_t seed) {
  return {.in = {deviates(size(s.R * s.C), seed, 1)},
          .numbers = {},
          .param = {deviates(size(s.C), seed, 2), deviates(size(s.C), seed, 3)},
          .dout = {deviates(size(s.R * s.C), seed, 4)},
          .seed = seed};
}

operands softmax_operands(const softmax_shape& s, std::uint64_t seed) {
  const std::size_t count = size(s.outer * s.C * s.inner);
  return {.in = {deviates(count, seed, 1)},
          .numbers = {},
          .param = {},
          .dout = {deviates(count, seed, 2)},
          .seed = seed};
}

operands embedding_operands(const embedding_shape& s, std::uint64_t seed) {
  random draw(seed, purpose::simulation, 5);
  std::vector<std::int32_t> ids(size(s.R));
  for (std::int32_t& id : ids)
    id = static_cast<std::int32_t>(draw.below(static_cast<std::uint64_t>(s.V)));
  operands o{.in = {{}},
             .numbers = {ids},
             .param = {deviates(size(s.V * s.C), seed, 1)},
             .dout = {deviates(size(s.R * s.C), seed, 2)},
             .seed = seed};
  if (s.T != 0) o.param.push_back(deviates(size(s.T * s.C), seed, 3));
  return o;
}

template <class Shape>
std::string refusal(result<op_ptr> (*make)(const Shape&), const Shape& s) {
  const result<op_ptr> made = make(s);
  return made ? "built" : std::string(text(made.why().code)) + ": " + made.why().what;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(row_ops)

BOOST_AUTO_TEST_CASE(layer_norm_agrees_with_plain_loops) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    random draw(seed, purpose::simulation, 0);
    // At least 16 columns: with very few, rows of almost equal values make the rstd explode and
    // any f32 result lose its digits.
    const layer_norm_shape s{.R = dimension(draw, 9), .C = 16 + dimension(draw, 70)};
    BOOST_TEST_CONTEXT("seed " << seed << " R " << s.R << " C " << s.C)
    layer_norm.check(s, layer_norm_operands(s, seed));
  }
}

BOOST_AUTO_TEST_CASE(layer_norm_of_one_column_is_its_bias) {
  const layer_norm_shape s{.R = 3, .C = 1};
  op_ptr built = std::move(*make_layer_norm(s));
  const operands given = layer_norm_operands(s, 1);
  BOOST_TEST(run(*built, given).out[0] == values(3, given.param[1][0]));
}

BOOST_AUTO_TEST_CASE(layer_norm_does_not_lose_a_large_mean) {
  const layer_norm_shape s{.R = 1, .C = 64};
  op_ptr built = std::move(*make_layer_norm(s));
  operands given = layer_norm_operands(s, 1);
  for (float& x : given.in[0]) x += 1000.0F;
  const results expected = run_plainly(
      built->needs(), given, [&](const op_call& c) { reference::layer_norm_forward(s, c); },
      [](const op_call&) {});
  // The mean of values near 1000 is only known to 6e-5.
  BOOST_TEST(worst_error(run(*built, given).out[0], expected.out[0]) <= 1e-4);
}

BOOST_AUTO_TEST_CASE(softmax_agrees_with_plain_loops) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    random draw(seed, purpose::simulation, 0);
    const softmax_shape s{.outer = dimension(draw, 5),
                          .C = dimension(draw, 40),
                          .inner = seed % 2 == 0 ? 1 : dimension(draw, 20)};
    BOOST_TEST_CONTEXT("seed " << seed << " " << s.outer << " " << s.C << " " << s.inner)
    softmax.check(s, softmax_operands(s, seed));
  }
}

BOOST_AUTO_TEST_CASE(softmax_of_large_values_does_not_overflow) {
  const softmax_shape s{.outer = 1, .C = 2, .inner = 1};
  op_ptr built = std::move(*make_softmax(s));
  operands given = softmax_operands(s, 1);
  given.in[0] = {1e30F, 1e30F};
  BOOST_TEST(run(*built, given).out[0] == (values{0.5F, 0.5F}));
}

BOOST_AUTO_TEST_CASE(embedding_agrees_with_plain_loops) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    random draw(seed, purpose::simulation, 0);
    embedding_shape s{
        .R = dimension(draw, 30), .V = dimension(draw, 10), .C = dimension(draw, 40), .T = 0};
    if (seed % 2 == 0) s.T = dimension(draw, 12);
    BOOST_TEST_CONTEXT("seed " << seed << " R " << s.R << " V " << s.V << " C " << s.C << " T "
                               << s.T)
    embedding.check(s, embedding_operands(s, seed));
  }
}

BOOST_AUTO_TEST_CASE(row_operators_say_which_dimension_is_wrong) {
  BOOST_TEST(refusal(make_layer_norm, {.R = 4, .C = 0}) ==
             "malformed: layer_norm: C is 0, not in [1, 2147483647]");
  BOOST_TEST(refusal(make_layer_norm, {.R = 4, .C = 4, .epsilon = -1}) ==
             "malformed: layer_norm: epsilon is negative");
  BOOST_TEST(refusal(make_softmax, {.outer = 1, .C = 5, .inner = -1}) ==
             "malformed: softmax: inner is -1, not in [1, 2147483647]");
  BOOST_TEST(refusal(make_softmax, {.outer = 2147483647, .C = 2147483647, .inner = 1}) ==
             "malformed: softmax: a tensor has more than 1099511627776 values");
  BOOST_TEST(refusal(make_embedding, {.R = 4, .V = 0, .C = 4}) ==
             "malformed: embedding: V is 0, not in [1, 2147483647]");
  BOOST_TEST(refusal(make_embedding, {.R = 4, .V = 3, .C = 4, .T = -2}) ==
             "malformed: embedding: T is -2, not in [1, 2147483647]");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::kernels::testing
