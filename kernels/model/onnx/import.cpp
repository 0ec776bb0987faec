#include "kernels/format/file.hpp"
#include "kernels/model/builders_internal.hpp"
#include "kernels/model/onnx/cut.hpp"
#include "kernels/model/onnx/lower.hpp"
#include "kernels/model/onnx/patterns.hpp"
#include "kernels/model/onnx/trace.hpp"
#include "kernels/model/onnx_model.hpp"
#include "kernels/ops/shape_check.hpp"
#include "kernels/weights.hpp"
#include "proto/digest.hpp"

#include <array>
#include <set>

namespace perigee::kernels {

namespace {

error in_file(const model_spec& spec, const error& why) {
  return {why.code, spec.file + ": " + why.what};
}

/// The flow of a model that is to be trained: the loss is taken before a last softmax.
result<flow> training_flow(const onnx_graph& graph, const model_spec& spec, std::int64_t samples) {
  auto f = traced(graph, {samples, spec.context});
  if (!f) return f;
  drop_last_softmax(*f);
  if (auto ok = find_patterns(*f); !ok) return ok.why();
  return f;
}

result<void> check_data(const flow& f, const dataset_info& data) {
  const flow_value& in = f.values[f.input];
  const bool tokens = data.kind == sample_kind::tokens;
  if (in.whole != tokens)
    return error{errc::unsupported, tokens ? "model: it reads images, the data are text"
                                           : "model: it reads tokens, the data are images"};
  if (tokens && in.shape != extents{in.shape[0], data.T})
    return error{errc::unsupported, "model: its input is " + shape_text(in.shape) +
                                        ", the data are samples of " + std::to_string(data.T) +
                                        " tokens"};
  const extents image{in.shape[0], data.C, data.H, data.W};
  if (!tokens && (capped_count(in.shape) != capped_count(image) ||
                  (in.shape.size() == 4 && in.shape != image)))
    return error{errc::unsupported, "model: its input is " + shape_text(in.shape) +
                                        ", the data are images " +
                                        shape_text(std::array{data.C, data.H, data.W})};
  return {};
}

/// Returns rows and classes of the logits, [B,V] or [B,T,V].
result<last_value> last_of(const flow& f, const dataset_info& data) {
  extents shape = f.values[f.output].shape;
  while (shape.size() > 2 && shape.back() == 1) shape.pop_back();
  const bool tokens = data.kind == sample_kind::tokens;
  const std::int64_t B = f.values[f.input].shape[0];
  const bool per_token = tokens && shape.size() == 3 && shape[0] == B && shape[1] == data.T;
  const bool per_sample = !tokens && shape.size() == 2 && shape[0] == B;
  if (!per_token && !per_sample)
    return error{errc::unsupported,
                 "model: its output is " + shape_text(f.values[f.output].shape) + "; logits " +
                     (tokens ? "[batch, tokens, vocabulary]" : "[batch, classes]") +
                     " are trained on"};
  if (shape.back() < data.classes)
    return error{errc::unsupported, "model: its output has " + std::to_string(shape.back()) +
                                        " classes, the data " + std::to_string(data.classes)};
  return last_value{0, capped_count(shape) / shape.back(), shape.back()};
}

/// Refuses parameters that several operators share.
result<void> check_untied(const layer_graph& whole) {
  std::set<std::string> seen;
  for (const node& n : whole.nodes)
    for (const parameter& p : n.parameters)
      if (!seen.insert(p.name).second)
        return error{errc::unsupported, "model: parameter " + shown(p.name) +
                                            " is used twice; export the model with it untied"};
  return {};
}

/// Makes the logits lie row by row.
void arrange_output(lowered& l) {
  const auto plain = plain_order(l.output.shape.size());
  if (same_order(l.output.shape, l.output.order, plain)) return;
  transpose_shape move{l.output.in_memory(), {}};
  for (const std::size_t d : plain)
    for (std::size_t i = 0; i < l.output.order.size(); ++i)
      if (l.output.order[i] == d) move.order.push_back(static_cast<std::int64_t>(i));
  const std::uint32_t from = l.output.value;
  l.output.value = static_cast<std::uint32_t>(l.whole.values.size());
  l.whole.values.push_back(l.whole.values[from]);
  l.whole.nodes.push_back({move, {from}, l.output.value, {}, {}});
}

result<model_graph> imported_from(const flow& f, const dataset_info& data,
                                  const build_options& options) {
  if (auto ok = check_data(f, data); !ok) return ok.why();
  auto last = last_of(f, data);
  if (!last) return last.why();
  lower_options how{options.pass, options.isa, sample_order::plain, {}};
  if (data.kind == sample_kind::image) {
    how.samples = sample_order::channels_last;
    how.image = {data.C, data.H, data.W};
  }
  auto l = lowered_of(f, how);
  if (!l) return l.why();
  if (l->whole.nodes.empty()) return error{errc::unsupported, "model: it computes nothing"};
  if (auto ok = check_untied(l->whole); !ok) return ok.why();
  arrange_output(*l);
  last->logits = l->output.value;
  model_graph model{cut_into_layers(l->whole, *last), options.samples, 0, 0};
  model.sample_count = capped_count(f.values[f.input].shape) / options.samples;
  model.target_count = last->rows / options.samples;
  return model;
}

}  // namespace

std::int64_t context_of(const onnx_graph& graph) noexcept {
  if (graph.inputs.size() != 1 || graph.inputs[0].type == dtype::f32) return 0;
  const auto& shape = graph.inputs[0].shape;
  return shape.size() == 2 && shape[1] > 0 ? shape[1] : 0;
}

result<digest128> content_of_model(const std::string& path) {
  const auto graph = read_onnx(path);
  if (!graph) return graph.why();
  auto own = content_of(path);
  if (!own || !graph->external) return own;
  digester beside;
  for (const named_tensor& t : graph->initializers) beside.add(t.data);
  return combined(std::array{*own, beside.value()});
}

result<onnx_graph> read_model(const model_spec& spec) {
  if (spec.content != digest128{}) {
    const auto content = content_of_model(spec.file);
    if (!content) return content.why();
    if (*content != spec.content)
      return error{errc::malformed, spec.file + ": its content is " + text(*content) +
                                        ", the job names " + text(spec.content)};
  }
  return read_onnx(spec.file);
}

result<model_graph> imported(const onnx_graph& graph, const model_spec& spec,
                             const dataset_info& data, const build_options& options) {
  const auto f = training_flow(graph, spec, options.samples);
  if (!f) return in_file(spec, f.why());
  auto model = imported_from(*f, data, options);
  if (!model) return in_file(spec, model.why());
  return model;
}

result<dataset_info> data_for(const onnx_graph& graph, const model_spec& spec) {
  const auto f = training_flow(graph, spec, 1);
  if (!f) return in_file(spec, f.why());
  const flow_value& in = f->values[f->input];
  extents out = f->values[f->output].shape;
  while (out.size() > 2 && out.back() == 1) out.pop_back();
  dataset_info info;
  info.kind = in.whole ? sample_kind::tokens : sample_kind::image;
  info.classes = out.empty() ? 0 : out.back();
  const bool image = in.shape.size() == 4;
  if (in.whole) {
    info.T = capped_count(in.shape);
  } else {
    info.C = image ? in.shape[1] : 1;
    info.H = image ? in.shape[2] : 1;
    info.W = image ? in.shape[3] : capped_count(in.shape);
  }
  return info;
}

result<tensor_file> weights_in(const onnx_graph& graph, const model_spec& spec) {
  const auto f = training_flow(graph, spec, 1);
  if (!f) return in_file(spec, f.why());
  const auto l = lowered_of(*f, {});
  if (!l) return in_file(spec, l.why());
  tensor_file file;
  for (const auto& [name, index] : l->tensors) {
    file.tensors.push_back(f->tensors[index]);
    file.tensors.back().name = name;
  }
  return file;
}

result<model_graph> build_onnx(const model_spec& spec, const dataset_info& data,
                               const build_options& options) {
  const auto graph = read_model(spec);
  if (!graph) return graph.why();
  return imported(*graph, spec, data, options);
}

}  // namespace perigee::kernels
