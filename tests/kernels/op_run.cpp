#include "tests/kernels/op_run.hpp"

#include "kernels/engine.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace perigee::kernels::testing {
namespace {

constexpr float poison = std::numeric_limits<float>::quiet_NaN();

/// Bytes on a boundary of 64, all bits set: as floats, NaNs.
class poisoned_bytes {
public:
  explicit poisoned_bytes(std::size_t count)
      : lines_(count / sizeof(line) + 1), count_(lines_.size() * sizeof(line)) {
    fill();
  }
  void fill() { std::memset(static_cast<void*>(lines_.data()), 0xff, count_); }
  std::byte* data() { return lines_.data()->bytes; }

private:
  struct alignas(64) line {
    std::byte bytes[64];
  };
  std::vector<line> lines_;
  std::size_t count_;
};

std::vector<float*> pointers(std::vector<values>& all) {
  std::vector<float*> to;
  for (values& v : all) to.push_back(v.empty() ? nullptr : v.data());
  return to;
}

std::vector<const float*> pointers(const std::vector<values>& all) {
  std::vector<const float*> to;
  for (const values& v : all) to.push_back(v.data());
  return to;
}

results empty_results(const op_needs& needs, const operands& given, const manner& how) {
  results r;
  for (const std::size_t n : needs.out_count) r.out.emplace_back(n, poison);
  for (std::size_t i = 0; i < given.in.size(); ++i) {
    const bool wanted = i >= how.without.size() || !how.without[i];
    r.din.emplace_back(wanted ? given.in[i].size() : 0, poison);
  }
  for (const std::size_t n : needs.param_count) r.dparam.emplace_back(n, how.before);
  r.statistics.assign(needs.statistics_count, poison);
  return r;
}

}  // namespace

results run(op& subject, const operands& given, const manner& how) {
  enter_lane();
  const op_needs& needs = subject.needs();
  results r = empty_results(needs, given, how);
  operands own = given;
  if (how.in_place) r.out[0] = given.in[0], r.din[0] = given.dout[0];

  std::vector<const void*> in;
  for (std::size_t i = 0; i < given.in.size(); ++i) in.push_back(given.input(i));
  if (how.in_place) in[0] = r.out[0].data();
  std::vector<float*> out = pointers(r.out), din = pointers(r.din), dparam = pointers(r.dparam);
  const std::vector<const float*> param = pointers(std::as_const(own.param));
  std::vector<const float*> dout = pointers(std::as_const(own.dout));
  if (how.in_place) dout[0] = r.din[0].data();
  std::vector<poisoned_bytes> saved;
  std::vector<std::byte*> saved_at;
  for (const std::size_t n : needs.saved_bytes) saved.emplace_back(n);
  for (poisoned_bytes& s : saved) saved_at.push_back(s.data());
  poisoned_bytes scratch(needs.scratch_bytes), packed(needs.packed_bytes);
  if (needs.packed_bytes != 0) subject.pack(param, packed.data(), scratch.data());
  scratch.fill();

  op_call c{.in = in,
            .out = out,
            .param = param,
            .packed = packed.data(),
            .saved = saved_at,
            .dout = dout,
            .din = din,
            .dparam = dparam,
            .scratch = scratch.data(),
            .statistics = r.statistics.data(),
            .seed = given.seed,
            .step = given.step,
            .micro_batch = given.micro_batch,
            .loss_scale = given.loss_scale,
            .loss = &r.loss};
  subject.forward(c);
  for (std::size_t i = 0; i < in.size(); ++i)
    if (!needs.backward_reads_in[i]) in[i] = nullptr;
  if (!needs.backward_reads_out) std::fill(out.begin(), out.end(), nullptr);
  scratch.fill();
  // In place, dparam must be done before din overwrites dout: a stage keeps that order too.
  if (how.in_place) subject.backward_weights(c);
  subject.backward_inputs(c);
  scratch.fill();
  if (!how.in_place) subject.backward_weights(c);
  return r;
}

results run_plainly(const op_needs& needs, const operands& given, const plain_loops& forward,
                    const plain_loops& backward) {
  results r = empty_results(needs, given, {});
  std::vector<const void*> in;
  for (std::size_t i = 0; i < given.in.size(); ++i) in.push_back(given.input(i));
  std::vector<float*> out = pointers(r.out), din = pointers(r.din), dparam = pointers(r.dparam);
  const std::vector<const float*> param = pointers(given.param), dout = pointers(given.dout);
  const op_call c{.in = in,
                  .out = out,
                  .param = param,
                  .saved = {},
                  .dout = dout,
                  .din = din,
                  .dparam = dparam,
                  .seed = given.seed,
                  .step = given.step,
                  .micro_batch = given.micro_batch,
                  .loss_scale = given.loss_scale,
                  .loss = &r.loss};
  forward(c);
  backward(c);
  return r;
}

double worst_error(const values& got, const values& expected) {
  if (got.size() != expected.size()) return std::numeric_limits<double>::infinity();
  double largest = 0, worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto e = static_cast<double>(expected[i]), g = static_cast<double>(got[i]);
    largest = std::max(largest, std::fabs(e));
    // A NaN on either side is never less than anything.
    if (!(std::fabs(g - e) <= worst)) worst = std::fabs(g - e);
    if (std::isnan(worst)) return std::numeric_limits<double>::infinity();
  }
  return largest == 0 ? worst : worst / largest;
}

values deviates(std::size_t count, std::uint64_t seed, std::uint64_t stream) {
  random draw(seed, purpose::simulation, stream);
  values all(count);
  for (float& x : all) x = draw.normal();
  return all;
}

}  // namespace perigee::kernels::testing
