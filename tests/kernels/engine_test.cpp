#include "tests/kernels/heavy_ops.hpp"

#include <boost/test/unit_test.hpp>

#include <omp.h>
#include <xmmintrin.h>

using namespace perigee::kernels;

BOOST_AUTO_TEST_SUITE(engine)

BOOST_AUTO_TEST_CASE(a_lane_has_one_thread_rounds_to_nearest_and_flushes_to_zero) {
  int threads = 0;
  unsigned state = 0;
  float flushed = 1;
  std::thread([&] {
    omp_set_num_threads(2);
    _mm_setcsr(0x7F80);  // round toward zero, gradual underflow
    enter_lane();
    threads = omp_get_max_threads();
    state = _mm_getcsr();
    volatile float least = std::numeric_limits<float>::min();
    flushed = least / 2;
  }).join();
  BOOST_TEST(threads == 1);
  BOOST_TEST((state & ~0x3FU) == (0x1F80U | 0x8040U));  // but for the flags of what happened
  BOOST_TEST(flushed == 0.0F);
}

BOOST_AUTO_TEST_CASE(a_product_takes_either_factor_transposed) {
  const std::vector<float> a = {1, 2, 3, 4, 5, 6};  // [2, 3]
  const std::vector<float> at = {1, 4, 2, 5, 3, 6};
  const std::vector<float> b = {1, 0, 2, 1, 0, 3};  // [3, 2]
  const std::vector<float> bt = {1, 2, 0, 0, 1, 3};
  const auto expected = std::vector<float>{5, 11, 14, 23};
  for (const bool turn_a : {false, true})
    for (const bool turn_b : {false, true}) {
      std::vector<float> out(4, -1);
      const factor left = turn_a ? factor{at.data(), 2, order::transposed} : factor{a.data(), 3};
      const factor right = turn_b ? factor{bt.data(), 3, order::transposed} : factor{b.data(), 2};
      multiply({.M = 2, .N = 2, .K = 3, .a = left, .b = right, .out = out.data(), .out_stride = 2});
      BOOST_TEST(out == expected, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(a_product_is_added_to_what_is_there_and_leaves_the_gaps) {
  const std::vector<float> a = {2}, b = {3, 4};
  std::vector<float> out = {1, 1, 9};
  multiply({.M = 1,
            .N = 2,
            .K = 1,
            .a = {a.data(), 1},
            .b = {b.data(), 2},
            .how = into::accumulate,
            .out = out.data(),
            .out_stride = 3});
  BOOST_TEST(out == std::vector<float>({7, 9, 9}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
