#include "actors/cli/fleet_file.hpp"

#include "actors/cli/fleet_fields.hpp"

#include <boost/test/unit_test.hpp>

namespace perigee::actors::fleet_file_tests {

namespace {

const std::string two_kinds =
    "[[peer]]\n"
    "id = 1\n"
    "name = \"laptop\"\n"
    "workers = 4\n"
    "memory_mib = 64\n"
    "gflops = 2.5\n"
    "[[peer]]\n"
    "id = 2\n"
    "count = 2\n"
    "memory_mib = 8\n"
    "gflops = 1\n"
    "memory_gb_per_s = 3\n"
    "[links]\n"
    "mbit_per_s = 8\n"
    "[[shared]]\n"
    "peers = [2, 3]\n"
    "latency_us = 50\n"
    "[[link]]\n"
    "between = [1, 3]\n"
    "mbit_per_s = 0.8\n";

std::string refusal(const std::string& text) {
  const auto fleet = fleet_from(text, "f.toml");
  if (fleet) return "accepted";
  BOOST_TEST((fleet.why().code == errc::malformed));
  return fleet.why().what;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(fleet_file)

BOOST_AUTO_TEST_CASE(peers_and_links_are_read) {
  const auto fleet = fleet_from(two_kinds, "f.toml");

  BOOST_REQUIRE(fleet);
  BOOST_TEST(fleet->peers.size() == 3U);
  BOOST_TEST(fleet->peers[0].name == "laptop");
  BOOST_TEST(fleet->peers[0].workers == 4U);
  BOOST_TEST(
      (fleet->peers[0].rate == speed{2'500'000'000, 2'500'000'000, 625'000'000, 10'000'000'000}));
  BOOST_TEST(fleet->peers[2].peer.value == 3U);
  BOOST_TEST((fleet->peers[2].memory_offer == bytes{8U << 20U}));
  BOOST_TEST(fleet->peers[2].rate[3] == 3'000'000'000U);
  BOOST_TEST(fleet->usual.bytes_per_second == 1'000'000U);
  BOOST_TEST(fleet->shared[0].link.latency.count() == 50'000);
  BOOST_TEST(fleet->shared[0].peers.size() == 2U);
  BOOST_TEST(fleet->pairs[0].target.value == 3U);
  BOOST_TEST(fleet->pairs[0].link.bytes_per_second == 100'000U);
}

BOOST_AUTO_TEST_CASE(what_is_unknown_is_refused_with_its_place_and_what_was_meant) {
  BOOST_TEST(refusal("[[peer]]\nid = 1\nmemory_mb = 3\n") ==
             "f.toml:3:1: unknown field 'memory_mb' of [[peer]]; did you mean 'memory_mib'?");
  BOOST_TEST(refusal("[[per]]\n") == "f.toml:1:3: unknown section 'per'; did you mean 'peer'?");
  BOOST_TEST(refusal("[[satellites]]\n") ==
             "f.toml:1:3: unknown section 'satellites'; `perigee help fleet` lists all");
}

BOOST_AUTO_TEST_CASE(what_is_out_of_range_or_missing_is_refused) {
  BOOST_TEST(refusal("[[peer]]\nid = 0\n") ==
             "f.toml:2:6: field 'id' of [[peer]] must be a whole number from 1 to 1073741824");
  BOOST_TEST(refusal("[[peer]]\nid = 1\nmemory_mib = 9\n") ==
             "f.toml:1:1: missing field 'gflops' of [[peer]]; for example: gflops = 40.0");
  BOOST_TEST(refusal("[[peer]]\nid = 1\nmemory_mib = 9\ngflops = -1\n")
                 .starts_with("f.toml:4:10: field 'gflops' of [[peer]] must be a number from"));
  BOOST_TEST(refusal("") == "f.toml:1:1: no [[peer]] in it; `perigee help fleet` has an example");
}

BOOST_AUTO_TEST_CASE(ids_are_taken_once_and_links_are_between_peers_there_are) {
  BOOST_TEST(refusal(two_kinds + "[[peer]]\nid = 3\nmemory_mib = 1\ngflops = 1\n") ==
             "f.toml:21:1: id 3 is taken twice");
  BOOST_TEST(refusal(two_kinds + "[[link]]\nbetween = [1, 9]\n") ==
             "f.toml:21:1: there is no peer 9");
  BOOST_TEST(refusal(two_kinds + "[[link]]\nbetween = [1, 1]\n") ==
             "f.toml:22:15: 'between' names peer 1 twice");
  BOOST_TEST(refusal(two_kinds + "[[link]]\nbetween = [1]\n") ==
             "f.toml:22:11: field 'between' of [[link]] must be a list of 2 ids of peers");
}

BOOST_AUTO_TEST_CASE(a_section_written_the_wrong_way_is_refused) {
  BOOST_TEST(refusal("[peer]\nid = 1\n").ends_with("write [[peer]], for each one"));
  BOOST_TEST(refusal("[[links]]\nmbit_per_s = 1\n").ends_with("write [links] once"));
  BOOST_TEST(refusal("link = [3]\n").ends_with("write [[link]], for each"));
  BOOST_TEST(refusal("[[peer\n").starts_with("f.toml:1:"));
  BOOST_TEST(refusal("\xc3\xa4 = 1\n") == "f.toml:1:1: a letter beyond ASCII outside quotes");
}

BOOST_AUTO_TEST_CASE(a_file_that_is_not_there_is_named) {
  const auto fleet = read_fleet("/nowhere/fleet.toml");
  BOOST_REQUIRE(!fleet);
  BOOST_TEST(fleet.why().what ==
             "cannot read fleet file: open /nowhere/fleet.toml: No such file or directory");
}

BOOST_AUTO_TEST_CASE(the_help_page_has_every_field_and_an_example_that_is_accepted) {
  const std::string page = fleet_help();
  for (const fleet_field& f : fleet_fields()) BOOST_TEST(page.find(f.name) != std::string::npos);
  const auto example = page.substr(page.find("\nExample\n") + 9);
  BOOST_TEST(static_cast<bool>(fleet_from(example, "example")));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::actors::fleet_file_tests
