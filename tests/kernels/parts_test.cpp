// Slice, source and affine against plain loops.
#include "kernels/reference/parts.hpp"

#include "tests/kernels/baseline_ops.hpp"
#include "tests/kernels/subject.hpp"

namespace perigee::kernels::testing {
namespace {

const subject<slice_shape> slice{make_slice, make_slice, reference::slice_forward,
                                 reference::slice_backward, 0};
const subject<source_shape> source{make_source, baseline_make_source, reference::source_forward,
                                   reference::source_backward, 1e-6};
const subject<affine_shape> affine{make_affine, baseline_make_affine, reference::affine_forward,
                                   reference::affine_backward, 1e-6};

operands given_of(std::size_t in, std::size_t out, std::uint64_t seed) {
  operands o;
  if (in > 0) o.in = {deviates(in, seed, 1)};
  o.dout = {deviates(out, seed, 77)};
  o.seed = seed;
  return o;
}

template <class Shape>
std::string refusal(result<op_ptr> (*make)(const Shape&), const Shape& s) {
  const result<op_ptr> made = make(s);
  return made ? "built" : std::string(text(made.why().code)) + ": " + made.why().what;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(parts)

BOOST_AUTO_TEST_CASE(slice_agrees_with_plain_loops) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    random draw(seed, purpose::simulation, 5);
    slice_shape s;
    s.outer = 1 + draw.below(4), s.size = 1 + draw.below(9), s.inner = 1 + draw.below(5);
    s.begin = draw.below(static_cast<std::uint32_t>(s.size));
    s.count = 1 + draw.below(static_cast<std::uint32_t>(s.size - s.begin));
    slice.check(s, given_of(static_cast<std::size_t>(s.outer * s.size * s.inner),
                            static_cast<std::size_t>(s.outer * s.count * s.inner), seed));
  }
}

BOOST_AUTO_TEST_CASE(source_agrees_with_plain_loops) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    random draw(seed, purpose::simulation, 6);
    source_shape s;
    s.count = 1 + draw.below(40), s.repeat = 1 + draw.below(5);
    operands given = given_of(0, static_cast<std::size_t>(s.count * s.repeat), seed);
    given.param = {deviates(static_cast<std::size_t>(s.count), seed, 3)};
    source.check(s, given);
  }
}

BOOST_AUTO_TEST_CASE(affine_agrees_with_plain_loops) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    random draw(seed, purpose::simulation, 7);
    affine_shape s;
    s.count = 1 + draw.below(70), s.scale = draw.uniform() * 4 - 2, s.shift = draw.uniform() - 0.5F;
    const auto count = static_cast<std::size_t>(s.count);
    affine.check(s, given_of(count, count, seed));
  }
}

BOOST_AUTO_TEST_CASE(shapes_that_make_no_sense_are_refused) {
  BOOST_TEST(refusal(make_slice, {1, 4, 1, 2, 3}) == "malformed: slice: from 2, 3 of 4");
  BOOST_TEST(refusal(make_slice, {1, 4, 1, -1, 3}) == "malformed: slice: from -1, 3 of 4");
  BOOST_TEST(refusal(make_slice, {0, 4, 1, 0, 3}) ==
             "malformed: slice: outer is 0, must be at least 1");
  BOOST_TEST(refusal(make_source, {0, 4}) == "malformed: source: count is 0, must be at least 1");
  BOOST_TEST(refusal(make_affine, {0, 4, 1}) ==
             "malformed: affine: count is 0, must be at least 1");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::kernels::testing
