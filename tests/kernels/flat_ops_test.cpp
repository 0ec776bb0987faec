// Activations, residual, broadcast, concat, transpose and dropout against plain loops.
#include "kernels/reference/flat.hpp"
#include "tests/kernels/baseline_ops.hpp"
#include "tests/kernels/subject.hpp"

#include <algorithm>

namespace perigee::kernels::testing {
namespace {

const subject<activation_shape> activation{make_activation, baseline_make_activation,
                                           reference::activation_forward,
                                           reference::activation_backward, 2e-6};
const subject<residual_shape> residual{make_residual, baseline_make_residual,
                                       reference::residual_forward, reference::residual_backward,
                                       1e-7};
const subject<broadcast_shape> broadcast{make_broadcast, baseline_make_broadcast,
                                         reference::broadcast_forward,
                                         reference::broadcast_backward, 2e-6};
// These two only move values: there is nothing that an instruction set could change.
const subject<concat_shape> concat{make_concat, make_concat, reference::concat_forward,
                                   reference::concat_backward, 0};
const subject<transpose_shape> transpose{
    make_transpose, make_transpose, reference::transpose_forward, reference::transpose_backward, 0};
const subject<dropout_shape> dropout{make_dropout, baseline_make_dropout,
                                     reference::dropout_forward, reference::dropout_backward, 1e-7};

constexpr activation_kind kinds[] = {activation_kind::relu,     activation_kind::relu6,
                                     activation_kind::gelu_erf, activation_kind::gelu_tanh,
                                     activation_kind::sigmoid,  activation_kind::silu,
                                     activation_kind::tanh,     activation_kind::hardswish};

/// Deviates moved to odd multiples of 1/8: away from the kinks at 0, 3 and 6, where differences say
/// nothing.
values off_the_kinks(std::size_t count, std::uint64_t seed, std::uint64_t stream) {
  values x = deviates(count, seed, stream);
  for (float& v : x) v = (std::floor(v * 12) + 0.5F) / 4;
  return x;
}

operands flat(std::vector<values> in, std::size_t out_count, std::uint64_t seed) {
  return {.in = std::move(in),
          .numbers = {},
          .param = {},
          .dout = {deviates(out_count, seed, 77)},
          .seed = seed};
}

std::size_t count_of(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t d : shape) count *= d;
  return static_cast<std::size_t>(count);
}

template <class Shape>
std::string refusal(result<op_ptr> (*make)(const Shape&), const Shape& s) {
  const result<op_ptr> made = make(s);
  return made ? "built" : std::string(text(made.why().code)) + ": " + made.why().what;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(flat_ops)

BOOST_AUTO_TEST_CASE(activations_agree_with_plain_loops) {
  for (const activation_kind kind : kinds)
    for (const std::int64_t count : {1, 7, 8, 33, 1000}) {
      const activation_shape s{.kind = kind, .count = count};
      const auto n = static_cast<std::size_t>(count);
      BOOST_TEST_CONTEXT("kind " << static_cast<int>(kind) << " count " << count) {
        // One value of ordinary size, so that errors are not a share of a vanishing tail.
        values x = off_the_kinks(n, 1, static_cast<std::uint64_t>(kind));
        x[0] = 0.625F;
        activation.check(s, flat({x}, n, 1));
      }
    }
}

BOOST_AUTO_TEST_CASE(activations_pass_on_what_is_no_number) {
  for (const activation_kind kind : kinds) {
    op_ptr built = std::move(*make_activation({.kind = kind, .count = 20}));
    const operands given = flat({values(20, std::numeric_limits<float>::quiet_NaN())}, 20, 1);
    const values out = run(*built, given).out[0];
    BOOST_TEST(std::all_of(out.begin(), out.end(), [](float x) { return std::isnan(x); }));
  }
}

BOOST_AUTO_TEST_CASE(slopes_at_the_kinks_are_those_of_pytorch) {
  const auto slopes = [](activation_kind kind, const values& x) {
    op_ptr built = std::move(*make_activation({kind, static_cast<std::int64_t>(x.size())}));
    operands given = flat({x}, x.size(), 1);
    given.dout = {values(x.size(), 1.0F)};
    return run(*built, given).din[0];
  };
  BOOST_TEST(slopes(activation_kind::relu, {0.0F, 1e-30F}) == (values{0.0F, 1.0F}));
  BOOST_TEST(slopes(activation_kind::relu6, {0.0F, 3.0F, 6.0F}) == (values{0.0F, 1.0F, 0.0F}));
  BOOST_TEST(slopes(activation_kind::hardswish, {-3.0F, 3.0F}) == (values{-0.5F, 1.5F}));
}

BOOST_AUTO_TEST_CASE(residual_agrees_with_plain_loops) {
  for (const std::int64_t count : {1, 15, 16, 501})
    for (const bool relu : {false, true}) {
      const auto n = static_cast<std::size_t>(count);
      values b = deviates(n, 2, 2);
      for (float& v : b) v = std::floor(v * 4) / 4;  // the sum stays off the kink
      BOOST_TEST_CONTEXT("count " << count << " relu " << relu)
      residual.check({count, relu}, flat({off_the_kinks(n, 2, 1), b}, n, 2));
    }
}

BOOST_AUTO_TEST_CASE(broadcast_agrees_with_plain_loops) {
  using shape = std::vector<std::int64_t>;
  const std::pair<shape, shape> all[] = {{{3, 4, 5}, {4, 1}},
                                         {{3, 4, 5}, {3, 1, 1}},
                                         {{7}, {7}},
                                         {{6, 33}, {33}},
                                         {{33}, {6, 33}},
                                         {{1}, {1}},
                                         {{}, {2, 3}},
                                         {{2, 1, 3}, {2, 4, 1}},
                                         {{5, 1}, {1, 40}},
                                         {{2, 3, 1, 5, 1, 2}, {3, 4, 1, 6, 2}},
                                         {{4, 1, 20}, {4, 3, 20}}};
  for (const auto& [a, b] : all)
    for (const broadcast_kind kind : {broadcast_kind::add, broadcast_kind::multiply}) {
      const broadcast_shape s{kind, a, b};
      const std::size_t out = (*make_broadcast(s))->needs().out_count[0];
      BOOST_TEST_CONTEXT("a " << count_of(a) << " b " << count_of(b) << " out " << out)
      broadcast.check(s, flat({deviates(count_of(a), 3, 1), deviates(count_of(b), 3, 2)}, out, 3));
    }
}

BOOST_AUTO_TEST_CASE(concat_agrees_with_plain_loops) {
  const concat_shape all[] = {{{{2, 3, 4}, {2, 5, 4}}, 1},
                              {{{3}, {1}, {9}}, 0},
                              {{{2, 2, 1}, {2, 2, 7}}, 2},
                              {{{4, 4}}, 1}};
  for (const concat_shape& s : all) {
    std::vector<values> in;
    std::size_t out = 0;
    for (std::size_t k = 0; k < s.in.size(); ++k) {
      in.push_back(deviates(count_of(s.in[k]), 4, k));
      out += count_of(s.in[k]);
    }
    concat.check(s, flat(in, out, 4));
  }
}

BOOST_AUTO_TEST_CASE(transpose_agrees_with_plain_loops) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    random draw(seed, purpose::simulation, 0);
    transpose_shape s;
    const std::size_t rank = 1 + draw.below(5);
    for (std::size_t i = 0; i < rank; ++i) {
      s.in.push_back(1 + static_cast<std::int64_t>(draw.below(rank < 3 ? 40 : 6)));
      s.order.insert(s.order.begin() + static_cast<std::ptrdiff_t>(draw.below(i + 1)),
                     static_cast<std::int64_t>(i));
    }
    BOOST_TEST_CONTEXT("seed " << seed)
    transpose.check(s, flat({deviates(count_of(s.in), seed, 1)}, count_of(s.in), seed));
  }
}

BOOST_AUTO_TEST_CASE(dropout_draws_what_philox_says) {
  for (const std::int64_t count : {1, 63, 64, 65, 1000})
    for (const double probability : {0.0, 0.1, 0.5, 0.999}) {
      const dropout_shape s{count, probability, 3};
      const auto n = static_cast<std::size_t>(count);
      operands given = flat({deviates(n, 5, 1)}, n, 0x123456789abcdefULL);
      given.step = 5'000'000'000ULL, given.micro_batch = 2;
      BOOST_TEST_CONTEXT("count " << count << " probability " << probability)
      dropout.check(s, given);
    }
}

BOOST_AUTO_TEST_CASE(dropout_keeps_its_share_and_its_mean) {
  constexpr std::size_t n = 100'000;
  op_ptr built = std::move(*make_dropout({n, 0.2, 0}));
  const values out = run(*built, flat({values(n, 1.0F)}, n, 1)).out[0];
  const auto kept =
      static_cast<double>(n - static_cast<std::size_t>(std::count(out.begin(), out.end(), 0.0F)));
  BOOST_TEST(std::fabs(kept / n - 0.8) < 0.006);  // 4.7 standard deviations
  BOOST_TEST(std::fabs(*std::max_element(out.begin(), out.end()) - 1.25F) < 1e-6F);
}

BOOST_AUTO_TEST_CASE(each_part_of_the_key_draws_another_mask) {
  constexpr std::size_t n = 128;
  const auto mask = [](std::uint32_t stream, const auto& change) {
    op_ptr built = std::move(*make_dropout({n, 0.5, stream}));
    operands given = flat({values(n, 1.0F)}, n, 1);
    change(given);
    return run(*built, given).out[0];
  };
  const values plain = mask(0, [](operands&) {});
  BOOST_TEST(mask(0, [](operands&) {}) == plain);
  BOOST_TEST(mask(1, [](operands&) {}) != plain);
  BOOST_TEST(mask(0, [](operands& o) { o.seed += 1ULL << 32U; }) != plain);
  BOOST_TEST(mask(0, [](operands& o) { o.step = 1; }) != plain);
  BOOST_TEST(mask(0, [](operands& o) { o.step = 1ULL << 32U; }) != plain);
  BOOST_TEST(mask(0, [](operands& o) { o.micro_batch = 1; }) != plain);
}

BOOST_AUTO_TEST_CASE(flat_operators_say_what_is_wrong) {
  BOOST_TEST(refusal(make_activation, {.kind = activation_kind::relu, .count = 0}) ==
             "malformed: activation: count is 0, not in [1, 1099511627776]");
  BOOST_TEST(refusal(make_activation, {.kind = activation_kind{9}, .count = 1}) ==
             "unsupported: activation: kind 9 is not known");
  BOOST_TEST(refusal(make_residual, {.count = -5}) ==
             "malformed: residual: count is -5, not in [1, 1099511627776]");
  BOOST_TEST(refusal(make_broadcast, {broadcast_kind::add, {3, 4}, {3}}) ==
             "malformed: broadcast: shapes [3, 4] and [3] do not fit");
  BOOST_TEST(refusal(make_broadcast, {broadcast_kind::add, {3, 0}, {3}}) ==
             "malformed: broadcast: dimension 1 of a is 0, not in [1, 2147483647]");
  BOOST_TEST(refusal(make_broadcast, {broadcast_kind::add, {1, 1, 1, 1, 1, 1, 1}, {3}}) ==
             "unsupported: broadcast: a has 7 dimensions, at most 6 are supported");
  BOOST_TEST(refusal(make_concat, {{}, 0}) == "malformed: concat: no inputs");
  BOOST_TEST(refusal(make_concat, {{{2, 3}}, 2}) == "malformed: concat: axis is 2, not in [0, 2)");
  BOOST_TEST(refusal(make_concat, {{{2, 3}, {3, 3}}, 1}) ==
             "malformed: concat: input 1 is [3, 3], which does not join [2, 3] along axis 1");
  BOOST_TEST(refusal(make_concat, {{{2, 3}, {2}}, 1}) ==
             "malformed: concat: input 1 is [2], which does not join [2, 3] along axis 1");
  BOOST_TEST(refusal(make_transpose, {{}, {}}) == "malformed: transpose: no dimensions");
  BOOST_TEST(refusal(make_transpose, {{2, 3}, {0, 0}}) ==
             "malformed: transpose: order [0, 0] is no permutation of 2 dimensions");
  BOOST_TEST(refusal(make_dropout, {.count = 4, .probability = 1}) ==
             "malformed: dropout: probability is 1.000000, not in [0, 1)");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::kernels::testing
