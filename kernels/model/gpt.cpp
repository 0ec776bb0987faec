#include "kernels/model/builders_internal.hpp"
#include "kernels/model/layers.hpp"

#include <cmath>

namespace perigee::kernels {

namespace {

constexpr double deviation = 0.02;

class gpt_builder {
public:
  gpt_builder(const model_spec& spec, const dataset_info& data, const build_options& options)
      : spec_(spec),
        B_(options.samples),
        T_(spec.context),
        C_(spec.width),
        V_(data.classes),
        dropout_(options.pass == pass_kind::training ? spec.dropout : 0),
        residual_{initial_kind::normal, deviation / std::sqrt(2.0 * spec.blocks)} {}

  layer_graph embedding() {
    layer_builder layer("wte", {rows(), element::i32});
    const embedding_shape shape{rows(), V_, C_, T_};
    const auto out =
        layer.add(shape, {input_value}, rows() * C_,
                  {{"wte.weight", {V_, C_}, weight_}, {"wpe.weight", {T_, C_}, weight_}});
    return layer.finished(dropped(layer, out));
  }

  layer_graph attention(const std::string& block) {
    layer_builder layer(block + ".attention", {rows() * C_, element::f32});
    const auto normed = layer.add_layer_norm({rows(), C_}, input_value, block + ".ln_1");
    const auto qkv =
        layer.add_linear({rows(), C_, 3 * C_, true}, normed, block + ".attn_qkv", weight_);
    const attention_shape heads{B_, T_, spec_.heads, C_ / spec_.heads};
    const auto mixed = layer.add(heads, {qkv}, rows() * C_);
    const auto out =
        layer.add_linear({rows(), C_, C_, true}, mixed, block + ".attn_out", residual_);
    return layer.finished(joined(layer, out));
  }

  layer_graph mlp(const std::string& block) {
    layer_builder layer(block + ".mlp", {rows() * C_, element::f32});
    const auto normed = layer.add_layer_norm({rows(), C_}, input_value, block + ".ln_2");
    const auto wide =
        layer.add_linear({rows(), C_, 4 * C_, true}, normed, block + ".mlp_in", weight_);
    const activation_shape gelu{activation_kind::gelu_erf, rows() * 4 * C_};
    const auto bent = layer.add(gelu, {wide}, rows() * 4 * C_);
    const auto out =
        layer.add_linear({rows(), 4 * C_, C_, true}, bent, block + ".mlp_out", residual_);
    return layer.finished(joined(layer, out));
  }

  layer_graph head() {
    layer_builder layer("lm_head", {rows() * C_, element::f32});
    layer.add_targets(rows());
    const auto normed = layer.add_layer_norm({rows(), C_}, input_value, "ln_f");
    const auto logits = layer.add_linear({rows(), C_, V_, false}, normed, "lm_head", weight_);
    layer.add_loss({rows(), V_}, logits);
    return layer.finished(no_value);
  }

private:
  [[nodiscard]] std::int64_t rows() const noexcept { return B_ * T_; }

  std::uint32_t dropped(layer_builder& layer, std::uint32_t x) {
    if (dropout_ == 0) return x;
    return layer.add(dropout_shape{rows() * C_, dropout_, stream_++}, {x}, rows() * C_);
  }

  std::uint32_t joined(layer_builder& layer, std::uint32_t branch) {
    branch = dropped(layer, branch);
    return layer.add(residual_shape{rows() * C_, false}, {branch, input_value}, rows() * C_);
  }

  const model_spec& spec_;
  std::int64_t B_, T_, C_, V_;
  double dropout_;
  initial weight_{initial_kind::normal, deviation};
  initial residual_;
  std::uint32_t stream_ = 0;
};

result<void> checked(const model_spec& spec, const dataset_info& data) {
  if (spec.width == 0) return error{errc::malformed, "model.width must be at least 1"};
  if (spec.blocks == 0) return error{errc::malformed, "model.blocks must be at least 1"};
  if (spec.heads == 0 || spec.width % spec.heads != 0)
    return error{errc::malformed, "model.heads: " + std::to_string(spec.heads) +
                                      " heads do not divide a width of " +
                                      std::to_string(spec.width)};
  if (spec.context == 0) return error{errc::malformed, "model.context must be at least 1"};
  if (data.T != spec.context)
    return error{errc::unsupported, "data: samples of " + std::to_string(data.T) +
                                        " tokens, model.context is " +
                                        std::to_string(spec.context)};
  if (!(spec.dropout >= 0 && spec.dropout < 1))
    return error{errc::malformed, "model.dropout must be at least 0 and less than 1"};
  return {};
}

}  // namespace

result<model_graph> build_gpt(const model_spec& spec, const dataset_info& data,
                              const build_options& options) {
  if (const auto ok = checked(spec, data); !ok) return ok.why();
  model_graph model{{}, options.samples, spec.context, spec.context};
  gpt_builder builder(spec, data, options);
  model.layers.push_back(builder.embedding());
  for (std::uint32_t i = 0; i < spec.blocks; ++i) {
    const std::string name = "blocks." + std::to_string(i);
    model.layers.push_back(builder.attention(name));
    model.layers.push_back(builder.mlp(name));
  }
  model.layers.push_back(builder.head());
  return model;
}

}  // namespace perigee::kernels
