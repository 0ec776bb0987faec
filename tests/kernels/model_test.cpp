#include "kernels/model/builders.hpp"
#include "kernels/model/layout.hpp"
#include "kernels/model/offsets.hpp"
#include "kernels/model/profile.hpp"
#include "kernels/model/program.hpp"
#include "kernels/model/state.hpp"
#include "tests/support/small_models.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>

namespace perigee::test {

namespace {

using namespace kernels;

dataset_info images(std::int64_t C) {
  dataset_info info;
  info.C = C, info.H = 8, info.W = 8, info.classes = 10;
  return info;
}

dataset_info tokens(std::int64_t T) {
  dataset_info info;
  info.kind = sample_kind::tokens;
  info.T = T, info.classes = 65;
  return info;
}

/// Returns `layer: name[shape] …` of each layer, or the error.
std::string told(const result<model_graph>& model) {
  if (!model) return std::string(text(model.why().code)) + ": " + model.why().what;
  std::string words;
  for (const layer_graph& layer : model->layers) {
    words += layer.name + ":";
    for (const parameter* p : parameters_of(layer)) {
      words += " " + p->name + "[";
      for (std::size_t i = 0; i < p->shape.size(); ++i)
        words += (i == 0 ? "" : ",") + std::to_string(p->shape[i]);
      words += "]";
    }
    words += "\n";
  }
  return words;
}

model_spec gpt(std::uint32_t width, std::uint32_t heads, std::uint32_t context) {
  model_spec m;
  m.kind = model_kind::gpt;
  m.blocks = 1, m.width = width, m.heads = heads, m.context = context;
  return m;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(model)

BOOST_AUTO_TEST_CASE(an_mlp_has_pytorchs_names) {
  model_spec m;
  m.hidden = {48, 20};
  BOOST_TEST(told(build_model(m, images(3), {4})) ==
             "fc1: fc1.weight[48,192] fc1.bias[48]\n"
             "fc2: fc2.weight[20,48] fc2.bias[20]\n"
             "fc3: fc3.weight[10,20] fc3.bias[10]\n");
}

BOOST_AUTO_TEST_CASE(a_resnet_doubles_its_channels_at_each_resolution) {
  model_spec m;
  m.kind = model_kind::resnet;
  m.width = 4;
  m.stages = {1, 1};
  BOOST_TEST(told(build_model(m, images(1), {4})) ==
             "stem: stem.0.weight[4,1,3,3] stem.1.weight[4] stem.1.bias[4]\n"
             "layers.0: layers.0.conv1.weight[4,4,3,3] layers.0.bn1.weight[4] "
             "layers.0.bn1.bias[4] layers.0.conv2.weight[4,4,3,3] layers.0.bn2.weight[4] "
             "layers.0.bn2.bias[4]\n"
             "layers.1: layers.1.conv1.weight[8,4,3,3] layers.1.bn1.weight[8] "
             "layers.1.bn1.bias[8] layers.1.conv2.weight[8,8,3,3] layers.1.bn2.weight[8] "
             "layers.1.bn2.bias[8] layers.1.down.0.weight[8,4,1,1] layers.1.down.1.weight[8] "
             "layers.1.down.1.bias[8]\n"
             "head: head.weight[10,8] head.bias[10]\n");
}

BOOST_AUTO_TEST_CASE(a_gpt_block_is_cut_between_attention_and_mlp) {
  BOOST_TEST(told(build_model(gpt(8, 2, 16), tokens(16), {4})) ==
             "wte: wte.weight[65,8] wpe.weight[16,8]\n"
             "blocks.0.attention: blocks.0.ln_1.weight[8] blocks.0.ln_1.bias[8] "
             "blocks.0.attn_qkv.weight[24,8] blocks.0.attn_qkv.bias[24] "
             "blocks.0.attn_out.weight[8,8] blocks.0.attn_out.bias[8]\n"
             "blocks.0.mlp: blocks.0.ln_2.weight[8] blocks.0.ln_2.bias[8] "
             "blocks.0.mlp_in.weight[32,8] blocks.0.mlp_in.bias[32] "
             "blocks.0.mlp_out.weight[8,32] blocks.0.mlp_out.bias[8]\n"
             "lm_head: ln_f.weight[8] ln_f.bias[8] lm_head.weight[65,8]\n");
}

BOOST_AUTO_TEST_CASE(a_model_that_cannot_be_built_names_the_field) {
  model_spec mlp, resnet;
  BOOST_TEST(told(build_model(mlp, images(1), {0})) == "malformed: micro_batch must be at least 1");
  BOOST_TEST(told(build_model(mlp, tokens(8), {4})) ==
             "unsupported: model: only gpt reads text, this model reads images");
  BOOST_TEST(told(build_model(gpt(8, 2, 8), images(1), {4})) ==
             "unsupported: model: gpt reads text, the data are images");
  dataset_info one = images(1);
  one.classes = 1;
  BOOST_TEST(told(build_model(mlp, one, {4})) == "unsupported: data: 1 classes, a model needs 2");
  mlp.hidden = {0};
  BOOST_TEST(told(build_model(mlp, images(1), {4})) == "malformed: model.hidden: a width of 0");
  resnet.kind = model_kind::resnet;
  BOOST_TEST(told(build_model(resnet, images(1), {4})) ==
             "malformed: model.width must be at least 1");
  resnet.width = 4;
  BOOST_TEST(told(build_model(resnet, images(1), {4})) ==
             "malformed: model.stages: no resolution given");
}

BOOST_AUTO_TEST_CASE(a_gpt_that_cannot_be_built_names_the_field) {
  const auto why = [](model_spec m) { return told(build_model(m, tokens(8), {4})); };
  BOOST_TEST(why(gpt(0, 2, 8)) == "malformed: model.width must be at least 1");
  model_spec m = gpt(8, 2, 8);
  m.blocks = 0;
  BOOST_TEST(why(m) == "malformed: model.blocks must be at least 1");
  BOOST_TEST(why(gpt(8, 3, 8)) == "malformed: model.heads: 3 heads do not divide a width of 8");
  BOOST_TEST(why(gpt(8, 2, 0)) == "malformed: model.context must be at least 1");
  BOOST_TEST(why(gpt(8, 2, 9)) == "unsupported: data: samples of 8 tokens, model.context is 9");
  m = gpt(8, 2, 8);
  m.dropout = 1;
  BOOST_TEST(why(m) == "malformed: model.dropout must be at least 0 and less than 1");
}

BOOST_AUTO_TEST_CASE(a_parameter_is_drawn_by_its_name_alone) {
  const small_job job = small_mlp();
  model_spec shorter = job.spec.model;
  shorter.hidden.pop_back();
  const auto drawn = [&](const model_spec& m, std::uint64_t seed) {
    const auto model = build_model(m, job.data->info(), {3});
    const layer_graph& layer = model->layers.front();
    const layer_layout layout = layout_of(layer, 0);
    std::vector<float> state(layout.state_floats());
    draw_state(layer, layout, seed, state);
    return state;
  };
  BOOST_TEST(drawn(job.spec.model, 1) == drawn(shorter, 1));
  BOOST_TEST(drawn(job.spec.model, 1) != drawn(shorter, 2));
}

BOOST_AUTO_TEST_CASE(a_linear_layer_begins_within_its_fan_in) {
  model_spec m;
  m.hidden = {200};
  const auto model = build_model(m, images(1), {4});
  const layer_graph& layer = model->layers.front();
  const layer_layout layout = layout_of(layer, 0);
  std::vector<float> state(layout.state_floats());
  draw_state(layer, layout, 1, state);
  double sum = 0, squares = 0, largest = 0;
  for (std::size_t i = 0; i < layout.parameters[0].count; ++i) {
    sum += double{state[i]};
    squares += double{state[i]} * double{state[i]};
    largest = std::max(largest, std::abs(double{state[i]}));
  }
  const auto count = static_cast<double>(layout.parameters[0].count);
  BOOST_TEST(largest <= 0.125);  // 1 / sqrt(64)
  BOOST_TEST(largest > 0.124);
  BOOST_TEST(std::abs(sum / count) < 0.003);
  BOOST_TEST(squares / count == 0.125 * 0.125 / 3, boost::test_tools::tolerance(0.05));
}

BOOST_AUTO_TEST_CASE(tensors_of_a_state_begin_at_64_bytes) {
  const auto model = build_model(gpt(10, 2, 8), tokens(8), {1});
  for (const layer_graph& layer : model->layers) {
    const layer_layout layout = layout_of(layer, 2);
    for (const parameter_place& p : layout.parameters) BOOST_TEST(p.offset % 16 == 0U);
    BOOST_TEST(layout.state_floats() == 3 * layout.parameter_floats);
    BOOST_TEST(layout.gradient_floats() == layout.parameter_floats + 16);
  }
}

BOOST_AUTO_TEST_CASE(buffers_that_live_at_one_time_do_not_overlap) {
  const std::vector<lifetime> buffers{{100, 0, 2}, {64, 1, 3}, {200, 2, 2},
                                      {64, 3, 5},  {1, 4, 6},  {300, 5, 6}};
  const offset_plan plan = plan_offsets(buffers);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    BOOST_TEST(plan.offsets[i] % 64 == 0U);
    for (std::size_t j = 0; j < i; ++j) {
      const bool meet = buffers[i].begin <= buffers[j].end && buffers[j].begin <= buffers[i].end;
      const bool apart = plan.offsets[i] + buffers[i].bytes <= plan.offsets[j] ||
                         plan.offsets[j] + buffers[j].bytes <= plan.offsets[i];
      BOOST_TEST((!meet || apart), i << " and " << j);
    }
  }
  BOOST_TEST(plan.bytes == 448U);  // the three at time 2
}

BOOST_AUTO_TEST_CASE(the_mlp_half_of_a_gpt_keeps_only_what_backward_reads) {
  const std::int64_t rows = 4 * 16, C = 8;
  const auto model = build_model(gpt(8, 2, 16), tokens(16), {4});
  const layer_graph& layer = model->layers[2];  // norm, mlp_in, gelu, mlp_out, residual
  const auto operators = build_operators(layer);
  const auto program = program_of(layer, *operators, layer_role::later);
  const auto where = [&](std::size_t node) { return program.values[layer.nodes[node].out].where; };
  BOOST_TEST((where(0) == region::kept));
  BOOST_TEST((where(1) == region::kept));
  BOOST_TEST((where(2) == region::kept));
  BOOST_TEST((where(3) == region::output));  // the residual is added in place
  BOOST_TEST((where(4) == region::output));
  BOOST_TEST(program.kept_bytes >= static_cast<std::size_t>(rows * 9 * C * 4));
  BOOST_TEST(program.kept_bytes <= static_cast<std::size_t>(rows * 9 * C * 4 + rows * 8 + 64));
}

BOOST_AUTO_TEST_CASE(the_first_layer_wants_no_gradient_of_its_samples) {
  const small_job job = small_mlp();
  const auto model = build_model(job.spec.model, job.data->info(), {3});
  const auto operators = build_operators(model->layers[0]);
  const auto first = program_of(model->layers[0], *operators, layer_role::first);
  BOOST_TEST((first.gradients[input_value].where == region::none));
  BOOST_TEST(!first.nodes[0].runs_backward);  // the transpose of the images
  BOOST_TEST(first.nodes[1].runs_backward);
  const auto later = program_of(model->layers[0], *operators, layer_role::later);
  BOOST_TEST((later.gradients[input_value].where == region::input_gradient));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace perigee::test
