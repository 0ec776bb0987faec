#include "tests/kernels/golden_judges.hpp"
#include "tests/kernels/op_run.hpp"

#include <filesystem>
#include <stdexcept>

namespace perigee::kernels::testing {
namespace {

op_ptr built(result<op_ptr> made) {
  if (!made) throw std::runtime_error(made.why().what);
  return std::move(*made);
}

/// in.x, then weight and bias if they are there, and the gradient of the output.
operands image_operands(const golden& g) {
  operands o{.in = {g.image("in.x")}, .numbers = {}, .param = {}, .dout = {g.image("grad_out.0")}};
  for (const char* name : {"param.weight", "param.bias"})
    if (g.has(name)) o.param.push_back(g.floats(name));
  return o;
}

void judge_image_run(golden& g, const results& r) {
  g.judge_image("out.0", r.out[0]);
  g.judge_image("grad.x", r.din[0]);
  if (g.has("grad.weight")) g.judge("grad.weight", r.dparam[0]);
  if (g.has("grad.bias")) g.judge("grad.bias", r.dparam[1]);
}

const manner from_zero{.in_place = false, .without = {}, .before = 0};

void conv2d(golden& g, golden_attributes& a) {
  const auto x = g.shape("in.x"), w = g.shape("param.weight");
  const conv2d_shape s{.B = x.at(0),
                       .C = x.at(1),
                       .H = x.at(2),
                       .W = x.at(3),
                       .N = w.at(0),
                       .KH = w.at(2),
                       .KW = w.at(3),
                       .stride = a.get<std::int64_t>("stride", 1),
                       .padding = a.get<std::int64_t>("padding", 0),
                       .dilation = a.get<std::int64_t>("dilation", 1),
                       .groups = a.get<std::int64_t>("groups", 1),
                       .bias = g.has("param.bias"),
                       .isa = {}};
  judge_image_run(g, run(*built(make_conv2d(s)), image_operands(g), from_zero));
}

batch_norm_shape batch_norm_of(const golden& g, golden_attributes& a) {
  const auto x = g.shape("in.x");
  return {.B = x.at(0),
          .C = x.at(1),
          .H = x.size() == 4 ? x[2] : 1,
          .W = x.size() == 4 ? x[3] : 1,
          .epsilon = a.get<float>("epsilon", 1e-5F)};
}

/// A file of running statistics alone belongs to the step in the file beside it.
void running_statistics(golden& g) {
  const std::filesystem::path beside =
      std::filesystem::path(g.path()).parent_path() / "batch_norm_training.safetensors";
  const golden step(beside.string());
  golden_attributes a(step.metadata("attrs"));
  const auto momentum = a.get<float>("momentum", 0.1F);
  const op_ptr op = built(make_batch_norm(batch_norm_of(step, a)));
  const values seen = run(*op, image_operands(step), from_zero).statistics;
  const std::size_t C = seen.size() / 2;
  values mean(C), variance(C);
  for (std::size_t i = 0; i < C; ++i) {
    mean[i] = momentum * seen[i];
    variance[i] = (1 - momentum) + momentum * seen[C + i];
  }
  g.judge("running_mean", mean);
  g.judge("running_var", variance);
}

void batch_norm(golden& g, golden_attributes& a) {
  if (!g.has("in.x")) return running_statistics(g);
  (void)a.get<float>("momentum", 0.1F);  // of the running statistics, which are not in this file
  judge_image_run(g,
                  run(*built(make_batch_norm(batch_norm_of(g, a))), image_operands(g), from_zero));
}

void pool(golden& g, golden_attributes& a, pool_kind kind) {
  const auto x = g.shape("in.x");
  pool_shape s{.kind = kind, .B = x.at(0), .C = x.at(1), .H = x.at(2), .W = x.at(3)};
  if (kind != pool_kind::global_average) {
    s.kernel = a.get<std::int64_t>("kernel", 2);
    s.stride = a.get<std::int64_t>("stride", s.kernel);
    s.padding = a.get<std::int64_t>("padding", 0);
  }
  judge_image_run(g, run(*built(make_pool(s)), image_operands(g), from_zero));
}

void linear(golden& g, golden_attributes&) {
  const auto x = g.shape("in.x"), w = g.shape("param.weight");
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) rows *= x[i];
  const linear_shape s{.R = rows, .C = w.at(1), .N = w.at(0), .bias = g.has("param.bias")};
  operands given = image_operands(g);
  given.in = {g.floats("in.x")};  // four dimensions would be tokens, not an image
  given.dout = {g.floats("grad_out.0")};
  const results r = run(*built(make_linear(s)), given, from_zero);
  g.judge("out.0", r.out[0]);
  g.judge("grad.x", r.din[0]);
  g.judge("grad.weight", r.dparam[0]);
  if (s.bias) g.judge("grad.bias", r.dparam[1]);
}

void matmul(golden& g, golden_attributes&) {
  const auto a = g.shape("in.a"), b = g.shape("in.b");
  matmul_shape s{.G = 1, .R = a.at(a.size() - 2), .C = a.back(), .N = b.back()};
  for (std::size_t i = 0; i + 2 < a.size(); ++i) s.G *= a[i];
  const operands given{.in = {g.floats("in.a"), g.floats("in.b")},
                       .numbers = {},
                       .param = {},
                       .dout = {g.floats("grad_out.0")}};
  const results r = run(*built(make_matmul(s)), given);
  g.judge("out.0", r.out[0]);
  g.judge("grad.a", r.din[0]);
  g.judge("grad.b", r.din[1]);
}

}  // namespace

judge heavy_judge(const std::string& op) {
  if (op == "conv2d") return conv2d;
  if (op == "batch_norm") return batch_norm;
  if (op == "max_pool") return [](golden& g, golden_attributes& a) { pool(g, a, pool_kind::max); };
  if (op == "avg_pool")
    return [](golden& g, golden_attributes& a) { pool(g, a, pool_kind::average); };
  if (op == "global_avg_pool")
    return [](golden& g, golden_attributes& a) { pool(g, a, pool_kind::global_average); };
  if (op == "linear") return linear;
  if (op == "matmul") return matmul;
  return nullptr;
}

}  // namespace perigee::kernels::testing
