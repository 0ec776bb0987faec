#include "kernels/calibrate.hpp"

#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

using namespace perigee::kernels;

namespace {

calibration in_a_lane() {
  calibration found;
  std::thread([&] { found = calibrate(); }).join();
  return found;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(calibrate)

BOOST_AUTO_TEST_CASE(every_class_of_work_has_a_speed) {
  for (const std::uint64_t rate : in_a_lane().rate) BOOST_TEST(rate > 1'000'000U);
}

BOOST_AUTO_TEST_CASE(the_fingerprint_is_the_same_each_time) {
  const calibration first = in_a_lane(), second = in_a_lane();
  BOOST_TEST(first.fingerprint != 0U);
  BOOST_TEST(first.fingerprint == second.fingerprint);
}

BOOST_AUTO_TEST_CASE(an_unknown_instruction_set_is_refused_with_the_names) {
  const auto capped = cap_isa("AVX2");
  BOOST_REQUIRE(!capped);
  BOOST_TEST(capped.why().what ==
             "instruction set `AVX2` is unknown; the names are sse41, avx, avx2, avx2_vnni, "
             "avx512_core, avx512_core_vnni, avx512_core_bf16, avx512_core_amx");
}

BOOST_AUTO_TEST_CASE(a_cap_after_the_first_kernel_comes_too_late) {
  in_a_lane();
  const auto capped = cap_isa("sse41");
  BOOST_REQUIRE(!capped);
  BOOST_TEST(capped.why().what ==
             "instruction set `sse41` comes too late: kernels of this process have run");
}

BOOST_AUTO_TEST_CASE(a_cap_before_the_first_kernel_holds_this_process_to_it) {
  char self[4096] = {};
  BOOST_REQUIRE(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
  const std::string command = std::string(self) + " --run_test=capped/process >/dev/null";
  BOOST_TEST(std::system(command.c_str()) == 0);
}

BOOST_AUTO_TEST_CASE(what_this_process_uses_is_within_itself_and_without_a_cap) {
  BOOST_TEST(bool(within_isa("")));
  BOOST_TEST(bool(within_isa(effective_isa())));
}

BOOST_AUTO_TEST_CASE(more_than_the_cap_is_refused_with_both_names) {
  const std::string now = effective_isa();
  if (now == "sse41") return;
  const auto fits = within_isa("sse41");
  BOOST_REQUIRE(!fits);
  BOOST_TEST(fits.why().what ==
             "instruction set `sse41` is asked for, but this process uses " + now);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(capped)

/// Runs in a process of its own, started by the suite above: a cap cannot be undone.
BOOST_AUTO_TEST_CASE(process, *boost::unit_test::disabled()) {
  BOOST_TEST(bool(cap_isa("sse41")));
  BOOST_TEST(effective_isa() == "sse41");
  BOOST_TEST(bool(within_isa("sse41")));
  BOOST_TEST(in_a_lane().rate[0] > 1'000'000U);
}

BOOST_AUTO_TEST_SUITE_END()
