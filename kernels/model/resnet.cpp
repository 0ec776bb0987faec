#include "kernels/model/builders_internal.hpp"
#include "kernels/model/layers.hpp"

namespace perigee::kernels {

namespace {

/// The images between two layers.
struct images {
  std::int64_t B = 0, C = 0, H = 0, W = 0;
  [[nodiscard]] std::int64_t count() const noexcept { return B * C * H * W; }
};

struct convolution_names {
  std::string convolution;
  std::string norm;
};

struct convolution_form {
  std::int64_t N = 0, kernel = 3, stride = 1;
  bool relu = false;
};

class resnet_builder {
public:
  explicit resnet_builder(const build_options& options) : options_(options) {}

  layer_graph stem(images& x, std::int64_t width) {
    layer_builder layer("stem", {x.count(), element::f32});
    std::uint32_t out = input_value;
    x = add(layer, out, x, {width, 3, 1, true}, {"stem.0", "stem.1"});
    return layer.finished(out);
  }

  layer_graph block(images& x, std::int64_t N, std::int64_t stride, const std::string& name) {
    layer_builder layer(name, {x.count(), element::f32});
    std::uint32_t out = input_value;
    images y = add(layer, out, x, {N, 3, stride, true}, {name + ".conv1", name + ".bn1"});
    y = add(layer, out, y, {N, 3, 1, false}, {name + ".conv2", name + ".bn2"});
    std::uint32_t skip = input_value;
    if (stride != 1 || N != x.C)
      (void)add(layer, skip, x, {N, 1, stride, false}, {name + ".down.0", name + ".down.1"});
    x = y;
    const residual_shape sum{y.count(), true};
    return layer.finished(layer.add(sum, {out, skip}, y.count()));
  }

  layer_graph head(const images& x, std::int64_t classes) {
    layer_builder layer("head", {x.count(), element::f32});
    layer.add_targets(x.B);
    const pool_shape pool{pool_kind::global_average, x.B, x.C, x.H, x.W};
    const auto pooled = layer.add(pool, {input_value}, x.B * x.C);
    const auto logits =
        layer.add_linear({x.B, x.C, classes, true}, pooled, "head", fan_in_uniform(x.C));
    layer.add_loss({x.B, classes}, logits);
    return layer.finished(no_value);
  }

private:
  /// Adds a convolution without bias and its batch norm after value `at`, which becomes the result.
  images add(layer_builder& layer, std::uint32_t& at, const images& x, const convolution_form& form,
             const convolution_names& names) const {
    conv2d_shape shape;
    shape.B = x.B, shape.C = x.C, shape.H = x.H, shape.W = x.W;
    shape.N = form.N, shape.KH = form.kernel, shape.KW = form.kernel;
    shape.stride = form.stride, shape.padding = form.kernel / 2;
    shape.isa = options_.isa;
    at = layer.add_convolution(shape, at, names.convolution);
    const images y{x.B, form.N, convolved(x.H, form.kernel, form.stride, form.kernel / 2),
                   convolved(x.W, form.kernel, form.stride, form.kernel / 2)};
    batch_norm_shape norm{y.B, y.C, y.H, y.W};
    norm.relu = form.relu;
    norm.pass = options_.pass;
    at = layer.add_batch_norm(norm, at, names.norm);
    return y;
  }

  const build_options& options_;
};

}  // namespace

result<model_graph> build_resnet(const model_spec& spec, const dataset_info& data,
                                 const build_options& options) {
  if (spec.width == 0) return error{errc::malformed, "model.width must be at least 1"};
  if (spec.stages.empty()) return error{errc::malformed, "model.stages: no resolution given"};

  model_graph model{{}, options.samples, data.C * data.H * data.W, 1};
  images x{options.samples, data.C, data.H, data.W};
  resnet_builder builder(options);
  model.layers.push_back(builder.stem(x, spec.width));
  std::int64_t width = spec.width;
  std::uint32_t number = 0;
  for (std::size_t resolution = 0; resolution < spec.stages.size(); ++resolution) {
    if (resolution > 0) width *= 2;
    for (std::uint32_t i = 0; i < spec.stages[resolution]; ++i) {
      const std::int64_t stride = resolution > 0 && i == 0 ? 2 : 1;
      const std::string name = "layers." + std::to_string(number++);
      model.layers.push_back(builder.block(x, width, stride, name));
    }
  }
  model.layers.push_back(builder.head(x, data.classes));
  return model;
}

}  // namespace perigee::kernels
