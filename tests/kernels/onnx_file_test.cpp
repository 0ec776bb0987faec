#include "kernels/format/onnx.hpp"
#include "kernels/model/onnx/trace.hpp"
#include "proto/base/random.hpp"
#include "tests/support/onnx_maker.hpp"
#include "tests/support/temporary_folder.hpp"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace perigee::test {

BOOST_AUTO_TEST_SUITE(onnx_file)

namespace {

using namespace kernels;

std::string content_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A copy of just this size, so that a read beyond the end is seen.
std::vector<std::byte> exact(const std::string& words) {
  const auto* first = reinterpret_cast<const std::byte*>(words.data());
  return {first, first + words.size()};
}

onnx_maker small() {
  onnx_maker m;
  m.input("x", {-1, 4}).weight("fc.weight", {3, 4}).weight("fc.bias", {3});
  m.with("transB", std::int64_t{1}).node("Gemm", {"x", "fc.weight", "fc.bias"}, "y").output("y");
  return m;
}

std::string refusal(const onnx_maker& m, const std::string& folder = "") {
  const auto graph = parse_onnx(m.bytes(), "m", folder);
  return graph ? "read" : std::string(text(graph.why().code)) + ": " + graph.why().what;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_model_is_read_as_it_was_made) {
  const auto graph = parse_onnx(small().bytes(), "m", "");
  BOOST_TEST_REQUIRE(bool(graph), (graph ? "" : graph.why().what));
  BOOST_TEST(graph->opset == 13);
  BOOST_TEST(graph->initializers.size() == 2U);
  BOOST_TEST(graph->nodes.size() == 1U);
  BOOST_TEST(graph->nodes[0].op == "Gemm");
  BOOST_TEST(graph->nodes[0].name == "/y");
  BOOST_TEST(graph->nodes[0].find("transB")->number == 1);
  BOOST_TEST((graph->inputs[0].shape == std::vector<std::int64_t>{-1, 4}));
}

BOOST_AUTO_TEST_CASE(a_model_of_pytorch_cut_off_anywhere_is_refused) {
  const std::string whole =
      content_of_file("../shared/goldens/runs/mlp_digits/model.onnx").substr(0);
  BOOST_TEST_REQUIRE(whole.size() > 20'000U);
  BOOST_TEST(bool(parse_onnx(exact(whole), "m", "")));
  for (std::size_t size = 0; size < whole.size(); ++size)
    if (parse_onnx(exact(whole.substr(0, size)), "m", "")) BOOST_ERROR("taken at " << size);
}

BOOST_AUTO_TEST_CASE(a_damaged_model_is_refused_or_read_but_never_more) {
  const std::string whole = small().file();
  std::size_t taken = 0;
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    random draw(seed, purpose::simulation, 3);
    std::string file = whole;
    for (auto left = 1 + draw.below(3); left > 0; --left)
      file[draw.below(file.size())] = static_cast<char>(draw.below(256));
    const auto graph = parse_onnx(exact(file), "m", "");
    if (graph && traced(*graph, {2, 0})) ++taken;
  }
  BOOST_TEST(taken > 0U);
  BOOST_TEST(taken < 20'000U);
}

BOOST_AUTO_TEST_CASE(what_is_no_model_is_refused) {
  const auto why = [](const std::string& file) {
    const auto graph = parse_onnx(exact(file), "m", "");
    return graph ? "read" : graph.why().what;
  };
  BOOST_TEST(why("") == "m: not an ONNX model: no graph");
  BOOST_TEST(why("hello") ==
             "m: not an ONNX model: its bytes are no protobuf message of that kind");
  BOOST_TEST(read_onnx("nowhere.onnx").why().what ==
             "open nowhere.onnx: No such file or directory");
}

BOOST_AUTO_TEST_CASE(other_opsets_are_refused) {
  BOOST_TEST(refusal(onnx_maker(8)) == "unsupported: m: opset 8; 9 to 17 are read");
  BOOST_TEST(refusal(onnx_maker(18)) == "unsupported: m: opset 18; 9 to 17 are read");
}

BOOST_AUTO_TEST_CASE(a_tensor_whose_bytes_do_not_fit_its_shape_is_refused) {
  BOOST_TEST(refusal(onnx_maker().reals("w", {2, 2}, {1, 2, 3})) ==
             "malformed: m: tensor w: 12 bytes, its shape has 16");
  BOOST_TEST(refusal(onnx_maker().reals("w", {-1, 2}, {1, 2})) ==
             "malformed: m: tensor w: a dimension is negative or the shape is too large");
  BOOST_TEST(refusal(onnx_maker().reals("w", {1LL << 40, 1LL << 40}, {1})) ==
             "malformed: m: tensor w: a dimension is negative or the shape is too large");
  BOOST_TEST(refusal(onnx_maker().weight("w", {2}).weight("w", {2})) ==
             "malformed: m: tensor w is there twice");
}

BOOST_AUTO_TEST_CASE(external_data_outside_the_models_folder_are_refused) {
  const temporary_folder folder;
  const auto why = [&](const std::string& location) {
    return refusal(onnx_maker().external("w", {2}, location), folder.file(""));
  };
  BOOST_TEST(
      why("../w.bin") ==
      "malformed: m: tensor w: external data in ../w.bin, which is not in the model's folder");
  BOOST_TEST(why("a/../../w.bin") ==
             "malformed: m: tensor w: external data in a/../../w.bin, which "
             "is not in the model's folder");
  BOOST_TEST(why("/etc/passwd") ==
             "malformed: m: tensor w: external data in /etc/passwd, which is "
             "not in the model's folder");
  BOOST_TEST(why("") == "malformed: m: tensor w: external data without a location");
  BOOST_TEST(why("missing.bin").find("missing.bin: No such file or directory") !=
             std::string::npos);
  std::filesystem::create_symlink("/etc/passwd", folder.file("link.bin"));
  BOOST_TEST(why("link.bin").find("which leads out of the model's folder") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(external_data_beside_the_model_are_read) {
  const temporary_folder folder;
  const float values[] = {1.5F, -2};
  folder.write("w.bin", {reinterpret_cast<const char*>(values), sizeof values});
  folder.write("short.bin", "1234567");
  const auto graph =
      parse_onnx(onnx_maker().external("w", {2}, "w.bin").bytes(), "m", folder.file(""));
  BOOST_TEST_REQUIRE(bool(graph), (graph ? "" : graph.why().what));
  BOOST_TEST(std::memcmp(graph->initializers[0].data.data(), values, sizeof values) == 0);
  BOOST_TEST(graph->external);
  BOOST_TEST(refusal(onnx_maker().external("w", {2}, "short.bin"), folder.file("")) ==
             "malformed: m: tensor w: external data end behind the end of short.bin");
}

BOOST_AUTO_TEST_CASE(replaced_weights_are_read_back) {
  const temporary_folder folder;
  const std::string path = folder.write("m.onnx", small().file());
  named_tensor bias{"fc.bias", dtype::f32, {3}, std::vector<std::byte>(12, std::byte{0})};
  const auto file = replaced_weights(path, {{bias}, {}});
  BOOST_TEST_REQUIRE(bool(file), (file ? "" : file.why().what));
  const auto graph = parse_onnx(*file, "m", "");
  BOOST_TEST_REQUIRE(bool(graph));
  BOOST_TEST((graph->initializers[1] == bias));
  BOOST_TEST((graph->initializers[0] == read_onnx(path)->initializers[0]));
  bias.shape = {1, 3};
  BOOST_TEST(replaced_weights(path, {{bias}, {}}).why().what ==
             path + ": tensor fc.bias has another shape or type");
  bias.name = "other";
  BOOST_TEST(replaced_weights(path, {{bias}, {}}).why().what == path + ": no tensor other");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::test
