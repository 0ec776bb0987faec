// Each example does what its first line says.
#include "tests/support/program.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(examples)

BOOST_AUTO_TEST_CASE(a_program_trains_a_job_and_watches_it) {
  const perigee::test::temporary_folder folder;
  const auto job = folder.write("job.toml", perigee::test::tiny_gpt(3));
  auto program = perigee::actors::child::start({EXAMPLE_01, job}, folder.file("example.log"));
  BOOST_REQUIRE(static_cast<bool>(program));
  BOOST_TEST(program->wait(std::chrono::seconds(60)).value_or(-1) == 0);
  const auto output = perigee::test::text_of(folder.file("example.log"));
  BOOST_TEST(output.find("step 3 loss ") != std::string::npos);
  const auto alone = perigee::test::run_perigee(folder, {"train", "--local", job, "--json"});
  const auto digest = perigee::test::last_event(alone.output, "progress").value("digest", "none");
  BOOST_TEST(output.find("digest " + digest) != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
