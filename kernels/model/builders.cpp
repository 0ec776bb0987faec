#include "kernels/model/builders.hpp"

#include "kernels/model/builders_internal.hpp"

namespace perigee::kernels {

result<model_graph> build_model(const model_spec& spec, const dataset_info& data,
                                const build_options& options) {
  if (options.samples <= 0) return error{errc::malformed, "micro_batch must be at least 1"};
  const bool tokens = data.kind == sample_kind::tokens;
  if (spec.kind != model_kind::onnx && tokens != (spec.kind == model_kind::gpt))
    return error{errc::unsupported, tokens ? "model: only gpt reads text, this model reads images"
                                           : "model: gpt reads text, the data are images"};
  if (data.classes < 2)
    return error{errc::unsupported,
                 "data: " + std::to_string(data.classes) + " classes, a model needs 2"};
  switch (spec.kind) {
    case model_kind::mlp:
      return build_mlp(spec, data, options);
    case model_kind::resnet:
      return build_resnet(spec, data, options);
    case model_kind::gpt:
      return build_gpt(spec, data, options);
    case model_kind::onnx:
      return build_onnx(spec, data, options);
  }
  return error{errc::unsupported, "model: unknown kind"};
}

}  // namespace perigee::kernels
