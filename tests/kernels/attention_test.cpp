// Attention against plain loops, over random shapes, and what the swarm relies on.
#include "kernels/reference/rows.hpp"
#include "tests/kernels/baseline_ops.hpp"
#include "tests/kernels/subject.hpp"

#include <algorithm>

namespace perigee::kernels::testing {
namespace {

// Products over D and T in f32, and the differences of the softmax's backward.
const subject<attention_shape> attention_subject{make_attention, baseline_make_attention,
                                                 reference::attention_forward,
                                                 reference::attention_backward, 1e-5};

operands attention_operands(const attention_shape& s, std::uint64_t seed) {
  const auto count = static_cast<std::size_t>(s.B * s.T * s.heads * s.D);
  operands o{.in = {}, .numbers = {}, .param = {}, .dout = {deviates(count, seed, 9)}};
  o.seed = seed;
  if (s.packed)
    o.in = {deviates(3 * count, seed, 1)};
  else
    o.in = {deviates(count, seed, 1), deviates(count, seed, 2), deviates(count, seed, 3)};
  return o;
}

/// Returns part `b` of `parts` equal parts.
values part_of(const values& all, std::size_t b, std::size_t parts) {
  const auto size = static_cast<std::ptrdiff_t>(all.size() / parts);
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(b) * size;
  return {first, first + size};
}

std::string refusal(const attention_shape& s) {
  const result<op_ptr> made = make_attention(s);
  return made ? "built" : std::string(text(made.why().code)) + ": " + made.why().what;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(attention)

BOOST_AUTO_TEST_CASE(attention_agrees_with_plain_loops) {
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    random draw(seed, purpose::simulation, 0);
    const attention_shape s{.B = 1 + static_cast<std::int64_t>(draw.below(2)),
                            .T = 1 + static_cast<std::int64_t>(draw.below(40)),
                            .heads = 1 + static_cast<std::int64_t>(draw.below(3)),
                            .D = 1 + static_cast<std::int64_t>(draw.below(17)),
                            .causal = seed % 3 != 0,
                            .packed = seed % 2 == 0,
                            .scale = seed % 5 == 0 ? 0.3F : 0.0F};
    BOOST_TEST_CONTEXT("seed " << seed << " B " << s.B << " T " << s.T << " heads " << s.heads
                               << " D " << s.D)
    attention_subject.check(s, attention_operands(s, seed));
  }
}

BOOST_AUTO_TEST_CASE(contexts_of_several_blocks_of_rows_agree_too) {
  for (const std::int64_t T : {63, 64, 65, 128, 150})
    for (const bool causal : {true, false}) {
      const attention_shape s{.B = 1, .T = T, .heads = 1, .D = 8, .causal = causal};
      BOOST_TEST_CONTEXT("T " << T << " causal " << causal)
      attention_subject.check(s, attention_operands(s, 7));
    }
}

BOOST_AUTO_TEST_CASE(a_token_does_not_see_what_follows_it) {
  const attention_shape s{.B = 1, .T = 70, .heads = 1, .D = 5, .causal = true, .packed = false};
  op_ptr built = std::move(*make_attention(s));
  operands given = attention_operands(s, 1);
  const results before = run(*built, given);
  for (std::size_t i = 1; i < 3; ++i)
    std::fill_n(given.in[i].end() - 5, 5, 8.0F);  // the last token's key and value
  const results after = run(*built, given);
  BOOST_TEST(std::equal(before.out[0].begin(), before.out[0].end() - 5, after.out[0].begin()));
  BOOST_TEST(before.out[0] != after.out[0]);
}

BOOST_AUTO_TEST_CASE(bits_of_a_sample_do_not_depend_on_its_place_in_the_batch) {
  for (const auto& [T, heads, D] :
       {std::array<std::int64_t, 3>{64, 4, 32}, {13, 3, 7}, {80, 2, 24}, {256, 2, 64}}) {
    const attention_shape many{.B = 3, .T = T, .heads = heads, .D = D};
    attention_shape one = many;
    one.B = 1;
    op_ptr batch = std::move(*make_attention(many)), alone = std::move(*make_attention(one));
    const operands given = attention_operands(many, 5);
    const results together = run(*batch, given);
    for (std::size_t b = 0; b < 3; ++b) {
      operands sample = attention_operands(one, 5);
      sample.in[0] = part_of(given.in[0], b, 3);
      sample.dout[0] = part_of(given.dout[0], b, 3);
      const results r = run(*alone, sample);
      BOOST_TEST(same_bits(r.out[0], part_of(together.out[0], b, 3)), "T " << T << " b " << b);
      BOOST_TEST(same_bits(r.din[0], part_of(together.din[0], b, 3)), "T " << T << " b " << b);
    }
  }
}

BOOST_AUTO_TEST_CASE(packed_and_separate_tensors_give_the_same_values) {
  const attention_shape packed{.B = 1, .T = 9, .heads = 1, .D = 6};
  attention_shape separate = packed;
  separate.packed = false;
  const operands given = attention_operands(separate, 3);
  operands joined = attention_operands(packed, 3);
  joined.dout = given.dout;
  for (std::size_t t = 0; t < 9; ++t)
    for (std::size_t d = 0; d < 18; ++d) joined.in[0][t * 18 + d] = given.in[d / 6][t * 6 + d % 6];
  op_ptr a = std::move(*make_attention(packed)), b = std::move(*make_attention(separate));
  BOOST_TEST(worst_error(run(*a, joined).out[0], run(*b, given).out[0]) <= 1e-6);
}

BOOST_AUTO_TEST_CASE(a_score_that_is_no_number_shows_in_the_output) {
  const attention_shape s{.B = 1, .T = 4, .heads = 1, .D = 3, .causal = true, .packed = false};
  op_ptr built = std::move(*make_attention(s));
  operands given = attention_operands(s, 1);
  given.in[0][9] = std::numeric_limits<float>::quiet_NaN();
  BOOST_TEST(std::isnan(run(*built, given).out[0][9]));
}

BOOST_AUTO_TEST_CASE(attention_says_which_dimension_is_wrong) {
  BOOST_TEST(refusal({.B = 1, .T = 0, .heads = 2, .D = 4}) ==
             "malformed: attention: T is 0, not in [1, 2147483647]");
  BOOST_TEST(refusal({.B = 1, .T = 3, .heads = 0, .D = 4}) ==
             "malformed: attention: heads is 0, not in [1, 2147483647]");
  BOOST_TEST(refusal({.B = 1, .T = 3, .heads = 1, .D = 4, .scale = HUGE_VALF}) ==
             "malformed: attention: scale is not finite");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::kernels::testing
