// A model that its owner brings, from the file to trained weights, by the program alone.
#include "tests/support/program.hpp"

#include <boost/test/unit_test.hpp>

namespace {

using perigee::test::ended;
using perigee::test::last_event;
using perigee::test::run_perigee;
using perigee::test::shared_data;
using perigee::test::temporary_folder;

std::string mnist_job(const std::string& model) {
  return "steps = 4\nmini_batch = 32\nmicro_batch = 8\n[model]\nonnx = \"" + model +
         "\"\n[data]\nkind = \"idx\"\npath = \"" + shared_data("mnist/t10k-images-idx3-ubyte.gz") +
         "\"\nlabels = \"" + shared_data("mnist/t10k-labels-idx1-ubyte.gz") +
         "\"\nscale = 0.00392156862745098\nmean = 0.1307\ndeviation = 0.3081\n"
         "validation_count = 2000\n[optimizer]\nlearning_rate = 0.001\n";
}

std::string address_of(const perigee::actors::child& node) {
  std::string address;
  BOOST_REQUIRE(perigee::test::eventually([&] {
    const auto told = last_event(perigee::test::text_of(node.log()), "listening");
    if (told.is_object()) address = told.value("address", "");
    return !address.empty();
  }));
  return address;
}

std::string judged(const temporary_folder& folder, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "eval");
  arguments.insert(arguments.end(), {"--samples", "300", "--json"});
  const ended run = run_perigee(folder, arguments);
  BOOST_REQUIRE_MESSAGE(run.code == 0, run.output);
  return last_event(run.output, "evaluation").dump();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(own_model)

BOOST_AUTO_TEST_CASE(three_processes_train_it_to_the_bits_of_one) {
  const temporary_folder folder;
  const auto job = folder.write("job.toml", mnist_job(shared_data("models/mnist.onnx")));
  const ended bed = run_perigee(
      folder, {"testbed", "--job", job, "--peers", "3", "--stages", "3", "--verify", "--json"});
  BOOST_REQUIRE_MESSAGE(bed.code == 0, bed.output);
  const ended alone = run_perigee(folder, {"train", "--local", job, "--json"});
  const auto digest = last_event(alone.output, "progress").value("digest", "none");
  BOOST_TEST(bed.output.find(digest) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(its_exported_file_holds_the_trained_weights) {
  const temporary_folder folder;
  const auto job = folder.write("job.toml", mnist_job(shared_data("models/mnist.onnx")));
  auto node =
      perigee::test::start_perigee(folder, "node", {"node", "--listen", "127.0.0.1:0", "--json"});
  const auto address = address_of(node);
  BOOST_REQUIRE(run_perigee(folder, {"train", job, "--via", address, "--json"}).code == 0);
  const auto weights = folder.file("w.safetensors"), model = folder.file("trained.onnx");
  BOOST_TEST(run_perigee(folder, {"export", job, "--via", address, "--out", weights}).code == 0);
  BOOST_TEST(
      run_perigee(folder, {"export", job, "--via", address, "--onnx", "--out", model}).code == 0);
  const auto again = folder.write("again.toml", mnist_job(model));
  BOOST_TEST(judged(folder, {again}) == judged(folder, {job, "--weights", weights}));
  BOOST_TEST(judged(folder, {again}) != judged(folder, {job}));
}

BOOST_AUTO_TEST_CASE(inspection_shows_its_layers_and_refusals_say_why) {
  const temporary_folder folder;
  const ended shown = run_perigee(folder, {"inspect", shared_data("models/mnist.onnx")});
  BOOST_TEST(shown.code == 0);
  BOOST_TEST(shown.output.find("5 layers, 4 cuts: 376.9k parameters") != std::string::npos);
  const ended layers = run_perigee(folder, {"inspect", shared_data("models/mnist.onnx"), "--json"});
  BOOST_TEST(last_event(layers.output, "layer").value("parameters", 0) == 368);
  const ended lstm = run_perigee(folder, {"inspect", shared_data("models/onnx-small/lstm.onnx")});
  BOOST_TEST(lstm.code == 2);
  BOOST_TEST(lstm.output.find("operator LSTM: not supported") != std::string::npos);
  const auto job = folder.write("job.toml", perigee::test::tiny_mlp(1));
  const ended bare = run_perigee(folder, {"eval", job});
  BOOST_TEST(bare.code == 2);
  BOOST_TEST(bare.output.find("no weights: name a file of them with --weights") !=
             std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
