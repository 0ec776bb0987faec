#include "tests/kernels/golden_judges.hpp"
#include "tests/kernels/op_run.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace perigee::kernels::testing {
namespace {

op_ptr built(result<op_ptr> made) {
  if (!made) throw std::runtime_error(made.why().what);
  return std::move(*made);
}

const manner from_zero{.in_place = false, .without = {}, .before = 0};

std::int64_t product(const std::vector<std::int64_t>& shape, std::size_t first, std::size_t last) {
  std::int64_t all = 1;
  for (std::size_t i = first; i < last; ++i) all *= shape.at(i);
  return all;
}

/// Runs an operator on all `in.` tensors in the order of their names and judges each `grad.`.
void judge_plain(golden& g, const op_ptr& op) {
  operands given{.in = {}, .numbers = {}, .param = {}, .dout = {g.floats("grad_out.0")}};
  const std::vector<std::string> names = g.names("in.");
  for (const std::string& name : names) given.in.push_back(g.floats(name));
  const results r = run(*op, given);
  g.judge("out.0", r.out[0]);
  for (std::size_t i = 0; i < names.size(); ++i) g.judge("grad." + names[i].substr(3), r.din[i]);
}

void attention(golden& g, golden_attributes& a) {
  const auto q = g.shape("in.q");
  attention_shape s{.B = q.at(0),
                    .T = q.at(2),
                    .heads = q.at(1),
                    .D = q.at(3),
                    .causal = a.get("causal", false),
                    .packed = false,
                    .scale = a.get<float>("scale", 0)};
  const operands given{.in = {g.floats("in.q"), g.floats("in.k"), g.floats("in.v")},
                       .numbers = {},
                       .param = {},
                       .dout = {g.floats("grad_out.0")}};
  const results r = run(*built(make_attention(s)), given);
  g.judge("out.0", r.out[0]);
  g.judge("grad.q", r.din[0]);
  g.judge("grad.k", r.din[1]);
  g.judge("grad.v", r.din[2]);
}

/// The same through the layout of a GPT: [B,T,3,heads,D] in, [B,T,heads,D] out.
void packed_attention(golden& g, golden_attributes& a) {
  attention(g, a);
  const auto q = g.shape("in.q");
  const std::int64_t B = q[0], heads = q[1], T = q[2], D = q[3];
  const attention_shape s{.B = B,
                          .T = T,
                          .heads = heads,
                          .D = D,
                          .causal = a.get("causal", false),
                          .packed = true,
                          .scale = a.get<float>("scale", 0)};
  // Moves part `part` of `parts` between the two layouts.
  const auto move = [&](values& packed, values& apart, std::int64_t part, std::int64_t parts,
                        bool pack) {
    for (std::int64_t i = 0; i < B * heads * T * D; ++i) {
      const std::int64_t d = i % D, t = i / D % T, h = i / D / T % heads, b = i / D / T / heads;
      const auto at = static_cast<std::size_t>((((b * T + t) * parts + part) * heads + h) * D + d);
      (pack ? packed[at] : apart[static_cast<std::size_t>(i)]) =
          pack ? apart[static_cast<std::size_t>(i)] : packed[at];
    }
  };
  const char* names[] = {"q", "k", "v"};
  operands given{.in = {values(g.floats("in.q").size() * 3)},
                 .numbers = {},
                 .param = {},
                 .dout = {g.floats("grad_out.0")}};
  values dout = given.dout[0];
  move(given.dout[0], dout, 0, 1, true);
  for (std::int64_t p = 0; p < 3; ++p) {
    values one = g.floats(std::string("in.") + names[p]);
    move(given.in[0], one, p, 3, true);
  }
  results r = run(*built(make_attention(s)), given);
  values one(dout.size());
  move(r.out[0], one, 0, 1, false);
  g.judge("out.0", one);
  for (std::int64_t p = 0; p < 3; ++p) {
    move(r.din[0], one, p, 3, false);
    g.judge(std::string("grad.") + names[p], one);
  }
}

void layer_norm(golden& g, golden_attributes& a) {
  const auto x = g.shape("in.x");
  const layer_norm_shape s{
      .R = product(x, 0, x.size() - 1), .C = x.back(), .epsilon = a.get<float>("epsilon", 1e-5F)};
  const operands given{.in = {g.floats("in.x")},
                       .numbers = {},
                       .param = {g.floats("param.weight"), g.floats("param.bias")},
                       .dout = {g.floats("grad_out.0")}};
  const results r = run(*built(make_layer_norm(s)), given, from_zero);
  g.judge("out.0", r.out[0]);
  g.judge("grad.x", r.din[0]);
  g.judge("grad.weight", r.dparam[0]);
  g.judge("grad.bias", r.dparam[1]);
}

void embedding(golden& g, golden_attributes&) {
  const auto ids = g.shape("in.ids"), w = g.shape("param.weight");
  const embedding_shape s{.R = product(ids, 0, ids.size()), .V = w.at(0), .C = w.at(1)};
  const operands given{.in = {{}},
                       .numbers = {g.numbers("in.ids")},
                       .param = {g.floats("param.weight")},
                       .dout = {g.floats("grad_out.0")}};
  const results r = run(*built(make_embedding(s)), given, from_zero);
  g.judge("out.0", r.out[0]);
  g.judge("grad.weight", r.dparam[0]);
}

void softmax(golden& g, golden_attributes& a) {
  const auto x = g.shape("in.x");
  auto axis = a.get<std::int64_t>("axis", -1);
  if (axis < 0) axis += static_cast<std::int64_t>(x.size());
  const auto at = static_cast<std::size_t>(axis);
  judge_plain(g, built(make_softmax({product(x, 0, at), x.at(at), product(x, at + 1, x.size())})));
}

void concat(golden& g, golden_attributes& a) {
  concat_shape s;
  for (const std::string& name : g.names("in.")) s.in.push_back(g.shape(name));
  s.axis = a.get<std::int64_t>("axis", 0);
  if (s.axis < 0) s.axis += static_cast<std::int64_t>(s.in.at(0).size());
  judge_plain(g, built(make_concat(s)));
}

void transpose(golden& g, golden_attributes& a) {
  judge_plain(
      g, built(make_transpose({g.shape("in.x"), a.get<std::vector<std::int64_t>>("perm", {})})));
}

void broadcast(golden& g, broadcast_kind kind) {
  judge_plain(g, built(make_broadcast({kind, g.shape("in.a"), g.shape("in.b")})));
}

/// What a loss's sum is multiplied by to be what the file's reduction says.
double reduction(golden_attributes& a, std::size_t counted) {
  const auto name = a.get<std::string>("reduction", "mean");
  if (name == "sum") return 1;
  if (name == "mean") return 1.0 / static_cast<double>(counted);
  throw std::runtime_error("reduction " + name + " is not known");
}

void cross_entropy(golden& g, golden_attributes& a) {
  const auto x = g.shape("in.logits");
  const std::vector<std::int32_t> target = g.numbers("in.target");
  const auto ignore = a.get<std::int32_t>("ignore_index", -100);
  const auto counted =
      target.size() - static_cast<std::size_t>(std::count(target.begin(), target.end(), ignore));
  const double factor = reduction(a, counted);
  operands given{
      .in = {g.floats("in.logits"), {}}, .numbers = {{}, target}, .param = {}, .dout = {}};
  given.loss_scale = factor * static_cast<double>(g.floats("grad_out.0").at(0));
  const results r = run(*built(make_cross_entropy({x.at(0), x.at(1), ignore})), given);
  g.judge("out.0", {static_cast<float>(r.loss * factor)});
  g.judge("grad.logits", r.din[0]);
}

void squared_error(golden& g, golden_attributes& a) {
  operands given{
      .in = {g.floats("in.x"), g.floats("in.target")}, .numbers = {}, .param = {}, .dout = {}};
  const double factor = reduction(a, given.in[0].size());
  given.loss_scale = factor * static_cast<double>(g.floats("grad_out.0").at(0));
  const auto count = static_cast<std::int64_t>(given.in[0].size());
  const results r = run(*built(make_squared_error({count})), given);
  g.judge("out.0", {static_cast<float>(r.loss * factor)});
  g.judge("grad.x", r.din[0]);
  if (g.has("grad.target")) g.judge("grad.target", r.din[1]);
}

template <activation_kind kind>
void activation(golden& g, golden_attributes&) {
  const auto x = g.shape("in.x");
  judge_plain(g, built(make_activation({kind, product(x, 0, x.size())})));
}

}  // namespace

judge loop_judge(const std::string& op) {
  static const std::map<std::string, judge> all = {
      {"attention", packed_attention},
      {"layer_norm", layer_norm},
      {"embedding", embedding},
      {"softmax", softmax},
      {"concat", concat},
      {"transpose", transpose},
      {"add", [](golden& g, golden_attributes&) { broadcast(g, broadcast_kind::add); }},
      {"mul", [](golden& g, golden_attributes&) { broadcast(g, broadcast_kind::multiply); }},
      {"cross_entropy", cross_entropy},
      {"mse", squared_error},
      {"relu", activation<activation_kind::relu>},
      {"relu6", activation<activation_kind::relu6>},
      {"gelu_erf", activation<activation_kind::gelu_erf>},
      {"gelu_tanh", activation<activation_kind::gelu_tanh>},
      {"sigmoid", activation<activation_kind::sigmoid>},
      {"silu", activation<activation_kind::silu>},
      {"tanh", activation<activation_kind::tanh>},
      {"hardswish", activation<activation_kind::hardswish>}};
  const auto found = all.find(op);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace perigee::kernels::testing
