#include "tests/support/onnx_forward.hpp"

#include "kernels/arena.hpp"
#include "kernels/engine.hpp"
#include "kernels/layer_runner.hpp"
#include "kernels/model/onnx/lower.hpp"
#include "kernels/model/onnx/patterns.hpp"
#include "kernels/model/onnx/trace.hpp"
#include "kernels/model/profile.hpp"
#include "kernels/model/state.hpp"

#include <cstring>

namespace perigee::test {

namespace {

using namespace kernels;

/// Returns the samples as our operators read them.
result<std::vector<float>> read_input(const named_tensor& t) {
  std::vector<float> out(t.data.size() / element_bytes(t.type));
  if (t.type == dtype::f32) {
    if (!out.empty()) std::memcpy(out.data(), t.data.data(), t.data.size());
    return out;
  }
  const auto known = constant_of(t);
  if (!known) return error{errc::unsupported, "input of type " + std::string(text(t.type))};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto id = static_cast<std::int32_t>(known->values[i]);
    std::memcpy(&out[i], &id, sizeof id);
  }
  return out;
}

/// Returns what lies in memory in ONNX's own order.
ran in_onnx_order(const placement& p, const float* memory) {
  ran r{p.shape, std::vector<float>(static_cast<std::size_t>(capped_count(p.shape)))};
  const extents lying = p.in_memory();
  std::vector<std::size_t> step(p.shape.size(), 1);
  for (std::size_t d = step.size(); d-- > 1;)
    step[d - 1] = step[d] * static_cast<std::size_t>(p.shape[d]);
  std::vector<std::int64_t> index(lying.size(), 0);
  for (std::size_t i = 0; i < r.values.size(); ++i) {
    std::size_t at = 0;
    for (std::size_t d = 0; d < index.size(); ++d)
      at += static_cast<std::size_t>(index[d]) * step[p.order[d]];
    r.values[at] = memory[i];
    for (std::size_t d = index.size(); d-- > 0;) {
      if (++index[d] < lying[d]) break;
      index[d] = 0;
    }
  }
  return r;
}

result<std::vector<float>> run_layer(const layer_graph& graph, const tensor_file& weights,
                                     std::vector<float>& input) {
  auto operators = build_operators(graph);
  if (!operators) return operators.why();
  layer_model model{graph, layout_of(graph, 0), program_of(graph, *operators, layer_role::first)};
  const auto size = [](std::size_t bytes) { return bytes / sizeof(float) + 64; };
  std::vector<float> state(size(model.layout.state_floats() * 4)),
      kept(size(model.program.kept_bytes)), transient(size(model.program.transient_bytes)),
      packed(size(model.program.packed_bytes)),
      out(size(static_cast<std::size_t>(graph.values[graph.output].count) * 4));
  const auto aligned = [](std::vector<float>& room) {
    auto* p = room.data();
    while (reinterpret_cast<std::uintptr_t>(p) % 64 != 0) ++p;
    return reinterpret_cast<std::byte*>(p);
  };
  auto* values = reinterpret_cast<float*>(aligned(state));
  if (auto ok = read_state(graph, model.layout, weights, {values, model.layout.state_floats()});
      !ok)
    return ok.why();
  layer_runner runner(model, std::move(*operators));
  runner.pack(values, aligned(packed), aligned(transient));
  layer_pass pass;
  const auto set = [&](region where, std::byte* base) {
    pass.bases[static_cast<std::size_t>(where)] = base;
  };
  input.resize(input.size() + 64);
  std::vector<float> placed(input.size() + 64);
  std::memcpy(aligned(placed), input.data(), input.size() * 4);
  set(region::input, aligned(placed)), set(region::output, aligned(out));
  set(region::kept, aligned(kept)), set(region::transient, aligned(transient));
  pass.state = values, pass.running = values + model.layout.state_running();
  pass.packed = aligned(packed);
  runner.forward(pass);
  const auto* first = reinterpret_cast<const float*>(aligned(out));
  return std::vector<float>(first, first + graph.values[graph.output].count);
}

}  // namespace

result<ran> run_onnx(const onnx_graph& graph, const named_tensor& input) {
  enter_lane();
  auto f = traced(graph, {input.shape.empty() ? 1 : input.shape[0], 0});
  if (!f) return f.why();
  if (auto ok = find_patterns(*f); !ok) return ok.why();
  auto l = lowered_of(*f, {pass_kind::evaluation, {}, sample_order::plain, {}});
  if (!l) return l.why();
  auto values = read_input(input);
  if (!values) return values.why();
  if (l->output.value == input_value) return in_onnx_order(l->output, values->data());
  tensor_file weights;
  for (const auto& [name, index] : l->tensors) {
    weights.tensors.push_back(f->tensors[index]);
    weights.tensors.back().name = name;
  }
  l->whole.output = l->output.value;
  auto out = run_layer(l->whole, weights, *values);
  if (!out) return out.why();
  return in_onnx_order(l->output, out->data());
}

}  // namespace perigee::test
