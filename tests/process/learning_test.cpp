// Real learning through real processes.
#include "tests/support/program.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(learning)

// 8,000 images to learn from, 2,000 to be judged by.
BOOST_AUTO_TEST_CASE(a_residual_network_on_four_peers_reads_handwritten_digits) {
  const perigee::test::temporary_folder folder;
  folder.write("job.toml",
               "seed = 1\nsteps = 375\nmini_batch = 64\nmicro_batch = 16\n"
               "[model]\nkind = \"resnet\"\nstages = [1, 1, 1]\nwidth = 8\n"
               "[data]\nkind = \"idx\"\npath = \"" +
                   perigee::test::shared_data("mnist/t10k-images-idx3-ubyte.gz") +
                   "\"\nlabels = \"" +
                   perigee::test::shared_data("mnist/t10k-labels-idx1-ubyte.gz") +
                   "\"\nvalidation_count = 2000\nscale = 0.00392156862745098\nmean = "
                   "0.1307\ndeviation = 0.3081\n"
                   "[optimizer]\nkind = \"sgd\"\nlearning_rate = 0.1\nmomentum = "
                   "0.9\nweight_decay = 0.0005\n"
                   "[rate]\nkind = \"cosine\"\nwarmup_steps = 20\n");
  const auto run =
      perigee::test::run_perigee(folder, {"testbed", "--peers", "4", "--stages", "4", "--no-verify",
                                          "--json", "--job", folder.file("job.toml")});
  BOOST_REQUIRE_MESSAGE(run.code == 0, run.output);
  const auto report = perigee::test::last_event(run.output, "report");
  BOOST_TEST_MESSAGE("accuracy " << report.value("validation_accuracy", 0.0));
  BOOST_TEST(report.value("validation_accuracy", 0.0) >= 0.975);
}

BOOST_AUTO_TEST_SUITE_END()
