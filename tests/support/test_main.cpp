// The main function of every test program.
#define BOOST_TEST_MODULE perigee
#include <boost/test/unit_test.hpp>
