// Models brought as ONNX files: patterns, layers, refusals, and a trained one judged.
#include "kernels/model/onnx_model.hpp"

#include "kernels/evaluate.hpp"
#include "kernels/executor_factory.hpp"
#include "kernels/model/layout.hpp"
#include "kernels/model/onnx/patterns.hpp"
#include "kernels/model/onnx/trace.hpp"
#include "kernels/stage.hpp"
#include "tests/support/onnx_maker.hpp"
#include "tests/support/sequential_run.hpp"

#include <boost/test/unit_test.hpp>

#include <limits>

namespace perigee::test {

BOOST_AUTO_TEST_SUITE(onnx_model)

namespace {

using namespace kernels;

const std::string mnist_file = "../shared/data/models/mnist.onnx";

onnx_graph graph_of(const onnx_maker& m) {
  auto graph = parse_onnx(m.bytes(), "m", "");
  BOOST_TEST_REQUIRE(bool(graph), (graph ? "" : graph.why().what));
  return *graph;
}

/// Returns the operators of a model after the patterns are found, or why it is refused.
std::string operators_of(const onnx_maker& m) {
  auto f = traced(graph_of(m), {2, 0});
  if (!f) return f.why().what;
  if (auto ok = find_patterns(*f); !ok) return ok.why().what;
  std::string all;
  for (const flow_node& n : f->nodes) {
    all += (all.empty() ? "" : " ") + n.op;
    if (n.op == "Activation") all += ":" + std::to_string(static_cast<int>(n.how.kind));
    if (n.op == "Attention" && n.how.causal) all += ":causal";
  }
  return all;
}

std::string activation(activation_kind k) {
  return "Activation:" + std::to_string(static_cast<int>(k));
}

onnx_maker rows() {
  onnx_maker m;
  m.input("x", {-1, 8}).reals("half", {}, {0.5F}).reals("one", {}, {1}).reals("two", {}, {2});
  return m;
}

/// Returns layers as `name[parameters] …`, with the tensors that cross between them.
std::string layers_of(const onnx_maker& m) {
  const onnx_graph graph = graph_of(m);
  model_spec spec;
  spec.file = "m";
  const auto data = data_for(graph, spec);
  if (!data) return data.why().what;
  const auto model = imported(graph, spec, *data, {2, pass_kind::training, {}});
  if (!model) return model.why().what;
  std::string all;
  for (const layer_graph& l : model->layers) {
    all += (all.empty() ? "" : " ") + l.name;
    if (l.outputs.size() > 1) all += "|" + std::to_string(l.outputs.size());
  }
  return all;
}

onnx_maker& convolution(onnx_maker& m, const std::string& in, const std::string& name,
                        std::int64_t from, std::int64_t to) {
  m.weight(name + ".weight", {to, from, 3, 3});
  m.with("pads", std::vector<std::int64_t>{1, 1, 1, 1});
  m.node("Conv", {in, name + ".weight"}, name + ".c").node("Relu", {name + ".c"}, name);
  return m;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_gelu_by_erf_is_found_however_it_is_written) {
  auto a = rows();
  a.reals("root2", {}, {1.41421354F}).node("Div", {"x", "root2"}, "d").node("Erf", {"d"}, "e");
  a.node("Add", {"e", "one"}, "s").node("Mul", {"x", "s"}, "p").node("Mul", {"p", "half"}, "y");
  BOOST_TEST(operators_of(a.output("y")) == activation(activation_kind::gelu_erf));
  auto b = rows();
  b.reals("r", {}, {0.707106769F}).node("Mul", {"x", "r"}, "d").node("Erf", {"d"}, "e");
  b.node("Add", {"one", "e"}, "s").node("Mul", {"half", "x"}, "h").node("Mul", {"s", "h"}, "y");
  BOOST_TEST(operators_of(b.output("y")) == activation(activation_kind::gelu_erf));
}

BOOST_AUTO_TEST_CASE(a_gelu_by_tanh_is_not_taken_for_one_by_erf) {
  auto m = rows();
  m.reals("c", {}, {0.044715F}).reals("three", {}, {3}).reals("k", {}, {0.797884583F});
  m.node("Pow", {"x", "three"}, "q").node("Mul", {"q", "c"}, "qc").node("Add", {"x", "qc"}, "i");
  m.node("Mul", {"i", "k"}, "ik").node("Tanh", {"ik"}, "t").node("Add", {"t", "one"}, "s");
  m.node("Mul", {"x", "half"}, "h").node("Mul", {"h", "s"}, "y").output("y");
  BOOST_TEST(operators_of(m) == activation(activation_kind::gelu_tanh));
}

BOOST_AUTO_TEST_CASE(silu_hard_swish_and_relu6_are_found) {
  auto silu = rows();
  silu.node("Sigmoid", {"x"}, "s").node("Mul", {"x", "s"}, "y").output("y");
  BOOST_TEST(operators_of(silu) == activation(activation_kind::silu));
  auto swish = rows();
  swish.with("alpha", 1.0F / 6).with("beta", 0.5F).node("HardSigmoid", {"x"}, "s");
  swish.node("Mul", {"s", "x"}, "y").output("y");
  BOOST_TEST(operators_of(swish) == activation(activation_kind::hardswish));
  auto six = rows();
  six.reals("zero", {}, {0}).reals("six", {}, {6}).node("Clip", {"x", "zero", "six"}, "y");
  BOOST_TEST(operators_of(six.output("y")) == activation(activation_kind::relu6));
}

BOOST_AUTO_TEST_CASE(an_activation_that_is_nearly_another_is_refused) {
  auto m = rows();
  m.reals("c", {}, {1.702F}).node("Mul", {"x", "c"}, "a").node("Sigmoid", {"a"}, "s");
  m.node("Mul", {"x", "s"}, "y").output("y");  // a quick GELU is no GELU
  BOOST_TEST(operators_of(m) == "Mul " + activation(activation_kind::sigmoid) + " Mul");
}

BOOST_AUTO_TEST_CASE(a_softmax_at_the_end_is_left_to_the_loss) {
  auto m = rows();
  m.weight("fc.weight", {3, 8}).with("transB", std::int64_t{1});
  m.node("Gemm", {"x", "fc.weight"}, "z").with("axis", std::int64_t{1});
  m.node("LogSoftmax", {"z"}, "y").output("y");
  BOOST_TEST(layers_of(m) == "fc");
}

BOOST_AUTO_TEST_CASE(what_is_not_supported_is_refused_by_operator_node_and_reason) {
  auto lstm = rows();
  lstm.node("LSTM", {"x"}, "y").output("y");
  BOOST_TEST(layers_of(lstm) == "m: operator LSTM, node /y: not supported");
  auto root = rows();
  root.node("Sqrt", {"x"}, "y").output("y");
  BOOST_TEST(layers_of(root) ==
             "m: operator Sqrt, node /y: only recognised as part of a larger pattern");
  auto frozen = rows();
  frozen.weight("g", {8}).node("Exp", {"g"}, "e").node("Mul", {"x", "e"}, "y").output("y");
  BOOST_TEST(layers_of(frozen) ==
             "m: operator Exp, node /e: computed from a parameter, which "
             "training would not reach");
  auto missing = rows();
  missing.node("Relu", {"nothing"}, "y").output("y");
  BOOST_TEST(layers_of(missing) == "m: node /y reads nothing, which is not there");
  auto tied = rows();
  tied.weight("t.weight", {8, 8}).with("transB", std::int64_t{1});
  tied.node("Gemm", {"x", "t.weight"}, "a").with("transB", std::int64_t{1});
  tied.node("Gemm", {"a", "t.weight"}, "y").output("y");
  BOOST_TEST(layers_of(tied) ==
             "m: model: parameter t.weight is used twice; export the model with it untied");
}

BOOST_AUTO_TEST_CASE(a_mask_that_is_not_causal_is_refused) {
  const auto attention = [](std::vector<bool> mask) {
    onnx_maker m;
    m.input("x", {-1, 2, 3, 4})
        .reals("low", {}, {-std::numeric_limits<float>::infinity()})
        .truths("mask", {1, 1, 3, 3}, mask);
    m.with("perm", std::vector<std::int64_t>{0, 1, 3, 2}).node("Transpose", {"x"}, "k");
    m.node("MatMul", {"x", "k"}, "s").node("Where", {"mask", "low", "s"}, "w");
    m.with("axis", std::int64_t{-1}).node("Softmax", {"w"}, "p");
    m.node("MatMul", {"p", "x"}, "y").output("y");
    return operators_of(m);
  };
  const bool o = false, x = true;
  BOOST_TEST(attention({o, x, x, o, o, x, o, o, o}) == "Attention:causal");
  BOOST_TEST(attention({o, o, o, o, o, o, o, o, o}) == "Attention");
  BOOST_TEST(attention({o, x, x, o, o, x, o, o, x}) ==
             "operator Softmax, node /p: attention whose mask neither lets everything through nor "
             "is causal");
}

BOOST_AUTO_TEST_CASE(a_batch_norm_keeps_its_own_momentum) {
  onnx_maker m;
  m.input("x", {-1, 4}).weight("n.weight", {4}).weight("n.bias", {4});
  m.weight("n.running_mean", {4}).weight("n.running_var", {4}).with("momentum", 0.99F);
  m.node("BatchNormalization", {"x", "n.weight", "n.bias", "n.running_mean", "n.running_var"}, "y");
  m.output("y");
  model_spec spec;
  const onnx_graph graph = graph_of(m);
  const auto model = imported(graph, spec, *data_for(graph, spec), {2, pass_kind::training, {}});
  BOOST_TEST_REQUIRE(bool(model), (model ? "" : model.why().what));
  const auto layout = layout_of(model->layers[0], 0);
  BOOST_TEST(layout.running[0].prefix == "n");
  BOOST_TEST(layout.running[0].momentum == 0.01);
}

BOOST_AUTO_TEST_CASE(an_exported_batch_of_one_becomes_ours) {
  onnx_maker m;
  m.input("x", {1, 2, 3}).numbers("flat", {1, -1}).node("Reshape", {"x", "flat"}, "r");
  m.weight("fc.weight", {4, 6}).with("transB", std::int64_t{1});
  m.node("Gemm", {"r", "fc.weight"}, "y").output("y");
  const auto f = traced(graph_of(m), {5, 0});
  BOOST_TEST_REQUIRE(bool(f), (f ? "" : f.why().what));
  BOOST_TEST((f->values[f->output].shape == extents{5, 4}));
}

BOOST_AUTO_TEST_CASE(positions_may_come_from_a_longer_table) {
  onnx_maker m;
  m.token_input("ids", {-1, 3}).weight("wte.weight", {7, 4}).weight("wpe.weight", {9, 4});
  m.numbers("places", {0, 1, 2}).node("Gather", {"wte.weight", "ids"}, "w");
  m.node("Gather", {"wpe.weight", "places"}, "p").node("Add", {"w", "p"}, "x");
  m.weight("head.weight", {7, 4}).weight("head.bias", {7});
  m.with("perm", std::vector<std::int64_t>{1, 0}).node("Transpose", {"head.weight"}, "t");
  m.node("MatMul", {"x", "t"}, "z").node("Add", {"z", "head.bias"}, "y").output("y");
  BOOST_TEST(operators_of(m) == "Embedding Linear");
  BOOST_TEST(layers_of(m) == "wte head");
}

BOOST_AUTO_TEST_CASE(a_residual_block_stays_whole) {
  onnx_maker m;
  m.input("x", {-1, 1, 8, 8});
  convolution(m, "x", "stem", 1, 4);
  convolution(convolution(m, "stem", "block.a", 4, 4), "block.a", "block.b", 4, 4);
  m.node("Add", {"block.b", "stem"}, "sum").node("GlobalAveragePool", {"sum"}, "p");
  m.node("Flatten", {"p"}, "f").weight("head.weight", {3, 4}).with("transB", std::int64_t{1});
  m.node("Gemm", {"f", "head.weight"}, "y").output("y");
  BOOST_TEST(layers_of(m) == "stem block head");
}

BOOST_AUTO_TEST_CASE(the_trained_mnist_model_judges_as_elsewhere) {
  specification spec;
  spec.model.kind = model_kind::onnx;
  spec.model.file = mnist_file;
  spec.micro_batch = spec.mini_batch = 100;
  spec.data.kind = data_kind::idx;
  spec.data.path = "../shared/data/mnist/t10k-images-idx3-ubyte.gz";
  spec.data.labels_path = "../shared/data/mnist/t10k-labels-idx1-ubyte.gz";
  spec.data.scale = 1.0 / 255;
  spec.data.mean = 0.1307;
  spec.data.deviation = 0.3081;
  spec.data.validation_count = 9'999;
  const auto data = open_dataset(spec.data, 0);
  const auto graph = read_model(spec.model);
  BOOST_TEST_REQUIRE(bool(graph), (graph ? "" : graph.why().what));
  const auto weights = weights_in(*graph, spec.model);
  BOOST_TEST_REQUIRE(bool(weights), (weights ? "" : weights.why().what));
  const auto one = evaluate(spec, **data, *weights, {split::training, 1});
  const auto rest = evaluate(spec, **data, *weights, {split::validation});
  BOOST_TEST_REQUIRE(bool(one), (one ? "" : one.why().what));
  BOOST_TEST_REQUIRE(bool(rest));
  BOOST_TEST(one->correct + rest->correct == 9'916U);
  BOOST_TEST((one->loss + rest->loss * 9'999) / 10'000 == 0.026486,
             boost::test_tools::tolerance(1e-4));
}

BOOST_AUTO_TEST_CASE(the_trained_mnist_model_goes_on_learning) {
  specification spec;
  spec.model.kind = model_kind::onnx;
  spec.model.file = mnist_file;
  spec.mini_batch = 64, spec.micro_batch = 32, spec.steps = 3;
  spec.optimizer.learning_rate = 1e-3;
  spec.data.kind = data_kind::idx;
  spec.data.path = "../shared/data/mnist/t10k-images-idx3-ubyte.gz";
  spec.data.labels_path = "../shared/data/mnist/t10k-labels-idx1-ubyte.gz";
  spec.data.scale = 1.0 / 255;
  spec.data.mean = 0.1307;
  spec.data.deviation = 0.3081;
  const auto profile = profile_of(spec);
  BOOST_TEST_REQUIRE(bool(profile), (profile ? "" : profile.why().what));
  const auto layers = static_cast<std::uint32_t>(profile->layers.size());
  const plan p = plan_of({{2, {2}}, {layers - 2, {1, 1}}});
  sequential_run run(spec, p, [&](peer_id self) {
    auto made = executor_for(spec, p, self);
    BOOST_TEST_REQUIRE(bool(made), (made ? "" : made.why().what));
    return std::move(*made);
  });
  for (std::uint64_t s = 0; s < spec.steps; ++s) {
    const step_record step = run.step(s);
    BOOST_TEST(step.finite);
    BOOST_TEST(step.loss < 0.3);  // one that begins from nothing has 2.3
  }
}

BOOST_AUTO_TEST_CASE(another_content_than_the_jobs_is_refused) {
  model_spec spec;
  spec.kind = model_kind::onnx;
  spec.file = mnist_file;
  spec.content = {1, 2};
  const auto graph = read_model(spec);
  BOOST_TEST_REQUIRE(!graph);
  BOOST_TEST(graph.why().what.find(", the job names 00000000000000010000000000000002") !=
             std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::test
