#include "net/sim/speed.hpp"

#include <boost/test/unit_test.hpp>

namespace perigee::net::speed_tests {

BOOST_AUTO_TEST_SUITE(speed)

BOOST_AUTO_TEST_CASE(the_standard_swarm_is_always_the_same_load) {
  const simulator_load once = run_standard_swarm(8, 20);
  const simulator_load again = run_standard_swarm(8, 20);
  BOOST_TEST(once.events > 5000U);
  BOOST_TEST(once.events == again.events);
  BOOST_TEST(once.trace_hash == again.trace_hash);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::net::speed_tests
