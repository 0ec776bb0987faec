// The two losses against plain loops, and what the loss of a step relies on.
#include "kernels/reference/flat.hpp"
#include "kernels/reference/rows.hpp"
#include "tests/kernels/baseline_ops.hpp"
#include "tests/kernels/subject.hpp"

namespace perigee::kernels::testing {
namespace {

const subject<cross_entropy_shape> cross_entropy{make_cross_entropy, baseline_make_cross_entropy,
                                                 reference::cross_entropy_forward,
                                                 reference::cross_entropy_backward, 2e-6};
const subject<squared_error_shape> squared_error{make_squared_error, baseline_make_squared_error,
                                                 reference::squared_error_forward,
                                                 reference::squared_error_backward, 1e-6};

operands rows(const cross_entropy_shape& s, std::uint64_t seed) {
  random draw(seed, purpose::simulation, 3);
  std::vector<std::int32_t> target(static_cast<std::size_t>(s.R));
  for (std::int32_t& t : target)
    t = draw.below(5) == 0 ? s.ignore
                           : static_cast<std::int32_t>(draw.below(static_cast<std::uint64_t>(s.V)));
  operands o{.in = {deviates(static_cast<std::size_t>(s.R * s.V), seed, 1), {}},
             .numbers = {{}, target},
             .param = {},
             .dout = {}};
  o.seed = seed;
  o.loss_scale = 0.25;
  return o;
}

template <class Shape>
std::string refusal(result<op_ptr> (*make)(const Shape&), const Shape& s) {
  const result<op_ptr> made = make(s);
  return made ? "built" : std::string(text(made.why().code)) + ": " + made.why().what;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(losses)

BOOST_AUTO_TEST_CASE(cross_entropy_agrees_with_plain_loops) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    random draw(seed, purpose::simulation, 0);
    const cross_entropy_shape s{.R = 1 + static_cast<std::int64_t>(draw.below(12)),
                                .V = 2 + static_cast<std::int64_t>(draw.below(70)),
                                .ignore = seed % 2 == 0 ? -100 : -1};
    BOOST_TEST_CONTEXT("seed " << seed << " R " << s.R << " V " << s.V)
    cross_entropy.check(s, rows(s, seed));
  }
}

BOOST_AUTO_TEST_CASE(one_class_costs_nothing) {
  const cross_entropy_shape s{.R = 3, .V = 1};
  op_ptr built = std::move(*make_cross_entropy(s));
  const results r = run(*built, rows(s, 1));
  BOOST_TEST(r.loss == 0.0);
  BOOST_TEST(r.din[0] == values(3, 0.0F));
}

BOOST_AUTO_TEST_CASE(a_batch_that_does_not_count_costs_nothing) {
  const cross_entropy_shape s{.R = 4, .V = 5};
  op_ptr built = std::move(*make_cross_entropy(s));
  operands given = rows(s, 1);
  given.numbers[1].assign(4, -100);
  const results r = run(*built, given);
  BOOST_TEST(r.loss == 0.0);
  BOOST_TEST(r.din[0] == values(20, 0.0F));
}

BOOST_AUTO_TEST_CASE(a_logit_that_is_not_finite_shows_in_the_loss) {
  const cross_entropy_shape s{.R = 1, .V = 20};
  op_ptr built = std::move(*make_cross_entropy(s));
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    for (std::size_t at = 0; at < 20; ++at) {
      operands given = rows(s, 1);
      given.numbers[1] = {4};
      given.in[0][at] = bad;
      BOOST_TEST(!std::isfinite(run(*built, given).loss));
    }
}

BOOST_AUTO_TEST_CASE(certain_and_hopeless_rows_stay_finite) {
  const cross_entropy_shape s{.R = 2, .V = 2};
  op_ptr built = std::move(*make_cross_entropy(s));
  operands given = rows(s, 1);
  given.in[0] = {1000.0F, -1000.0F, 1000.0F, -1000.0F};
  given.numbers[1] = {0, 1};
  given.loss_scale = 1;
  const results r = run(*built, given);
  BOOST_TEST(r.loss == 2000.0);
  BOOST_TEST(r.din[0] == (values{0.0F, 0.0F, 1.0F, -1.0F}));
}

BOOST_AUTO_TEST_CASE(squared_error_agrees_with_plain_loops) {
  for (const std::int64_t count : {1, 15, 16, 17, 300}) {
    const auto n = static_cast<std::size_t>(count);
    operands given{
        .in = {deviates(n, 1, 1), deviates(n, 1, 2)}, .numbers = {}, .param = {}, .dout = {}};
    given.loss_scale = 0.5;
    BOOST_TEST_CONTEXT("count " << count)
    squared_error.check({count}, given);
  }
}

BOOST_AUTO_TEST_CASE(losses_say_what_is_wrong) {
  BOOST_TEST(refusal(make_cross_entropy, {.R = 0, .V = 5}) ==
             "malformed: cross_entropy: R is 0, not in [1, 2147483647]");
  BOOST_TEST(refusal(make_cross_entropy, {.R = 2, .V = 5, .ignore = 3}) ==
             "malformed: cross_entropy: ignore is 3, which is one of the 5 classes");
  BOOST_TEST(refusal(make_squared_error, {.count = 0}) ==
             "malformed: squared_error: count is 0, not in [1, 1099511627776]");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::kernels::testing
