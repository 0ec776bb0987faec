// Cutting a model into layers changes no bit, however many tensors cross.
#include "kernels/model/onnx/cut.hpp"

#include "kernels/engine.hpp"
#include "kernels/layer_runner.hpp"
#include "kernels/model/profile.hpp"
#include "kernels/model/state.hpp"
#include "proto/base/random.hpp"

#include <boost/test/unit_test.hpp>

#include <map>
#include <memory>
#include <set>

namespace perigee::test {

BOOST_AUTO_TEST_SUITE(cut)

namespace {

using namespace kernels;

constexpr std::int64_t B = 2;

/// Writes a model in one piece.
class sketch {
public:
  explicit sketch(std::int64_t input) { whole.values.push_back({input, element::f32}); }

  std::uint32_t add(op_shape shape, std::vector<std::uint32_t> in, std::int64_t count,
                    std::vector<parameter> parameters = {}) {
    whole.values.push_back({count, element::f32});
    const auto out = static_cast<std::uint32_t>(whole.values.size() - 1);
    whole.nodes.push_back({std::move(shape), std::move(in), out, std::move(parameters), {}});
    return out;
  }
  std::uint32_t linear(std::uint32_t in, std::int64_t C, std::int64_t N) {
    const std::string name = "fc" + std::to_string(++count_);
    const initial begins{initial_kind::uniform, 0.4};
    const auto out = add(linear_shape{B, C, N, true}, {in}, B * N,
                         {{name + ".weight", {N, C}, begins}, {name + ".bias", {N}, begins}});
    return add(activation_shape{activation_kind::tanh, B * N}, {out}, B * N);
  }
  std::uint32_t joined(std::uint32_t a, std::int64_t A, std::uint32_t b, std::int64_t C) {
    return add(concat_shape{{{B, A}, {B, C}}, 1}, {a, b}, B * (A + C));
  }

  layer_graph whole;

private:
  int count_ = 0;
};

/// Skips inside skips, as in a U-Net: 10 weighted operators, of which the outer skip passes 9.
sketch nested_skips() {
  sketch s(B * 5);
  const auto top = s.linear(input_value, 5, 7);
  const auto down = s.linear(s.linear(top, 7, 9), 9, 6);
  const auto bottom = s.linear(s.linear(s.linear(down, 6, 11), 11, 3), 3, 6);
  const auto up = s.linear(s.linear(s.joined(bottom, 6, down, 6), 12, 8), 8, 5);
  const auto end = s.linear(s.joined(up, 5, top, 7), 12, 6);
  (void)s.linear(end, 6, 4);
  return s;
}

/// A buffer for tensors, aligned as arenas are.
class room {
public:
  explicit room(std::size_t bytes) : data_(bytes / sizeof(float) + 64) {}
  std::byte* at() {
    void* p = data_.data();
    std::size_t space = data_.size() * sizeof(float);
    return static_cast<std::byte*>(std::align(64, 64, p, space));
  }

private:
  std::vector<float> data_;
};

/// One layer with everything a pass needs.
struct built_layer {
  explicit built_layer(layer_graph graph, layer_role role) {
    auto operators = build_operators(graph);
    BOOST_TEST_REQUIRE(bool(operators), (operators ? "" : operators.why().what));
    model.layout = layout_of(graph, 0);
    model.program = program_of(graph, *operators, role);
    model.graph = std::move(graph);
    runner = std::make_unique<layer_runner>(model, std::move(*operators));
    const auto floats = [](std::size_t count) { return count * sizeof(float); };
    state = std::make_unique<room>(floats(model.layout.state_floats()));
    gradients = std::make_unique<room>(floats(model.layout.gradient_floats()));
    kept = std::make_unique<room>(model.program.kept_bytes);
    transient = std::make_unique<room>(model.program.transient_bytes);
    packed = std::make_unique<room>(model.program.packed_bytes);
    auto* values = reinterpret_cast<float*>(state->at());
    draw_state(model.graph, model.layout, 1, {values, model.layout.state_floats()});
    runner->pack(values, packed->at(), transient->at());
  }
  layer_model model;
  std::unique_ptr<layer_runner> runner;
  std::unique_ptr<room> state, gradients, kept, transient, packed;
};

/// Runs a chain forward and backward; returns each parameter's gradient, and the loss.
std::map<std::string, std::vector<float>> gradients_of(const std::vector<layer_graph>& layers) {
  enter_lane();
  std::vector<std::unique_ptr<built_layer>> chain;
  std::vector<std::unique_ptr<room>> values, gradients;  // values[i] goes into layer i
  const auto boundary = [](const layer_graph& l, std::uint32_t v) {
    const std::size_t count = v == no_value ? 16 : static_cast<std::size_t>(l.values[v].count);
    return std::make_unique<room>(count * sizeof(float));
  };
  for (const layer_graph& l : layers) {
    const auto role = chain.empty() ? layer_role::first : layer_role::later;
    chain.push_back(std::make_unique<built_layer>(l, role));
    values.push_back(boundary(l, input_value));
    gradients.push_back(boundary(l, input_value));
  }
  values.push_back(std::make_unique<room>(64)), gradients.push_back(std::make_unique<room>(64));
  random draw(7, purpose::simulation, 1);
  auto* samples = reinterpret_cast<float*>(values[0]->at());
  for (std::int64_t i = 0; i < layers[0].values[0].count; ++i) samples[i] = draw.uniform() - 0.5F;
  std::vector<std::int32_t> targets(16, 1);
  double loss = 0;
  const auto pass_of = [&](std::size_t i) {
    layer_pass pass;
    const auto set = [&](region where, std::byte* base) {
      pass.bases[static_cast<std::size_t>(where)] = base;
    };
    set(region::input, values[i]->at()), set(region::output, values[i + 1]->at());
    set(region::input_gradient, gradients[i]->at());
    set(region::output_gradient, gradients[i + 1]->at());
    set(region::kept, chain[i]->kept->at()), set(region::transient, chain[i]->transient->at());
    set(region::targets, reinterpret_cast<std::byte*>(targets.data()));
    pass.state = reinterpret_cast<float*>(chain[i]->state->at());
    pass.packed = chain[i]->packed->at();
    pass.gradients = reinterpret_cast<float*>(chain[i]->gradients->at());
    pass.loss = &loss;
    return pass;
  };
  for (std::size_t i = 0; i < chain.size(); ++i) chain[i]->runner->forward(pass_of(i));
  for (std::size_t i = chain.size(); i-- > 0;) chain[i]->runner->backward(pass_of(i));
  std::map<std::string, std::vector<float>> all{{"loss", {static_cast<float>(loss)}}};
  for (const auto& l : chain) {
    const auto parameters = parameters_of(l->model.graph);
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      const auto place = l->model.layout.parameters[k];
      const auto* from = reinterpret_cast<float*>(l->gradients->at()) + place.offset;
      all[parameters[k]->name].assign(from, from + place.count);
    }
  }
  return all;
}

std::vector<layer_graph> in_one_piece(const layer_graph& whole, const last_value& last) {
  layer_graph one = whole;
  one.values.insert(one.values.begin() + 1, {last.rows, element::i32});  // the targets
  const auto moved = [](std::uint32_t v) { return v == 0 ? v : v + 1; };
  for (node& n : one.nodes) {
    for (std::uint32_t& v : n.in) v = moved(v);
    n.out = moved(n.out);
  }
  one.logits = moved(last.logits);
  one.nodes.push_back(
      {cross_entropy_shape{last.rows, last.classes}, {one.logits, target_value}, no_value, {}, {}});
  return {one};
}

std::string crossings_of(const std::vector<layer_graph>& layers) {
  std::string all;
  for (const layer_graph& l : layers)
    all += std::to_string(l.output == no_value ? 0 : std::max<std::size_t>(1, l.outputs.size()));
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(nested_skips_are_cut_where_several_tensors_cross) {
  const sketch s = nested_skips();
  const last_value last{static_cast<std::uint32_t>(s.whole.values.size() - 1), B, 4};
  const auto layers = cut_into_layers(s.whole, last);
  BOOST_TEST(crossings_of(layers) == "12222110");
}

BOOST_AUTO_TEST_CASE(a_skip_over_everything_reaches_the_last_layer) {
  sketch s(B * 5);
  const auto top = s.linear(input_value, 5, 7);
  auto x = top;
  for (int i = 0; i < 7; ++i) x = s.linear(x, 7, 7);
  const auto sum = s.add(residual_shape{B * 7, false}, {s.linear(x, 7, 7), top}, B * 7);
  const last_value last{sum, B, 7};
  const auto layers = cut_into_layers(s.whole, last);
  BOOST_TEST(crossings_of(layers) == "122222220");
  BOOST_TEST((gradients_of(layers) == gradients_of(in_one_piece(s.whole, last))));
}

BOOST_AUTO_TEST_CASE(cuts_change_no_bit_of_any_gradient) {
  const sketch s = nested_skips();
  const last_value last{static_cast<std::uint32_t>(s.whole.values.size() - 1), B, 4};
  const auto cut = gradients_of(cut_into_layers(s.whole, last));
  const auto whole = gradients_of(in_one_piece(s.whole, last));
  BOOST_TEST(whole.size() == 21U);
  for (const auto& [name, values] : whole) {
    BOOST_TEST_REQUIRE(cut.contains(name), name);
    BOOST_TEST((cut.at(name) == values), name);
  }
}

BOOST_AUTO_TEST_CASE(every_layer_of_a_chain_has_a_name_of_its_own) {
  const sketch s = nested_skips();
  const last_value last{static_cast<std::uint32_t>(s.whole.values.size() - 1), B, 4};
  std::set<std::string> names;
  for (const layer_graph& l : cut_into_layers(s.whole, last))
    BOOST_TEST(names.insert(l.name).second);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::test
