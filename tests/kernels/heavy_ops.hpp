// The trial that every convolution, norm, pooling and product goes through: against plain loops,
// and against itself under other circumstances, bit for bit.
#pragma once

#include "kernels/engine.hpp"
#include "kernels/ops/ops.hpp"
#include "proto/base/random.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace perigee::kernels::heavy {

using floats = std::vector<float>;

/// Returns values in [-1, 1); of (seed, stream).
inline floats drawn(std::size_t count, std::uint64_t seed, std::uint64_t stream) {
  random draw(seed, purpose::simulation, stream);
  floats values(count);
  for (float& v : values) v = 2 * draw.uniform() - 1;
  return values;
}

/// What one run is given.
struct given {
  std::vector<floats> in, param, dout;
  floats running;
};

inline given given_for(const op_needs& needs, const std::vector<std::size_t>& in_counts,
                       std::uint64_t seed) {
  given g;
  std::uint64_t stream = 0;
  for (const std::size_t n : in_counts) g.in.push_back(drawn(n, seed, ++stream));
  for (const std::size_t n : needs.param_count) g.param.push_back(drawn(n, seed, ++stream));
  for (const std::size_t n : needs.out_count) g.dout.push_back(drawn(n, seed, ++stream));
  return g;
}

struct results {
  std::vector<floats> out, din, dparam;
  floats statistics;
};

/// Memory at a chosen distance behind a 64-byte line, filled with a pattern.
class room {
public:
  room(std::size_t bytes, std::size_t offset, unsigned char fill)
      : memory_(bytes + 128, std::byte{fill}), bytes_(bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    begin_ = (64 - address % 64) % 64 + offset;
  }
  std::byte* data() { return memory_.data() + begin_; }
  float* values() { return reinterpret_cast<float*>(data()); }
  float* filled(const floats& from) {
    if (!from.empty()) std::memcpy(data(), from.data(), from.size() * sizeof(float));
    return values();
  }
  floats taken() {
    floats to(bytes_ / sizeof(float));
    if (!to.empty()) std::memcpy(to.data(), data(), to.size() * sizeof(float));
    return to;
  }

private:
  std::vector<std::byte> memory_;
  std::size_t bytes_, begin_ = 0;
};

/// How a run departs from the plain one.
struct circumstances {
  std::size_t offset = 0;      // of each tensor behind a 64-byte line
  unsigned char fill = 0xFF;   // of scratch, outputs and saved: 0xFF = NaNs
  bool weights_first = false;  // backward_weights before backward_inputs
};

/// The memory of one call and the pointers into it.
class stand {
public:
  stand(const op_needs& needs, const given& g, const circumstances& how)
      : scratch_(needs.scratch_bytes, 0, how.fill),
        packed_(needs.packed_bytes, 0, how.fill),
        statistics_(needs.statistics_count * sizeof(float), how.offset, how.fill),
        running_(g.running) {
    const auto add = [&](std::vector<room>& to, std::size_t bytes) -> room& {
      return to.emplace_back(bytes, how.offset, how.fill);
    };
    for (const floats& v : g.in) in.push_back(add(in_, v.size() * 4).filled(v));
    for (const floats& v : g.in) din.push_back(add(din_, v.size() * 4).values());
    for (const floats& v : g.param) param.push_back(add(param_, v.size() * 4).filled(v));
    for (const floats& v : g.dout) dout.push_back(add(dout_, v.size() * 4).filled(v));
    for (const std::size_t n : needs.out_count) out.push_back(add(out_, n * 4).values());
    for (const std::size_t n : needs.saved_bytes) saved.push_back(add(saved_, n).data());
    for (const std::size_t n : needs.param_count)
      dparam.push_back(add(dparam_, n * 4).filled(floats(n, 0.5F)));
  }

  op_call call() {
    op_call c;
    c.in = in, c.out = out, c.param = param, c.saved = saved;
    c.dout = dout, c.din = din, c.dparam = dparam;
    c.packed = packed_.data(), c.scratch = scratch_.data();
    c.statistics = statistics_.values();
    c.running = running_.data();
    return c;
  }

  std::byte* packed() { return packed_.data(); }

  results taken() {
    results r;
    for (room& m : out_) r.out.push_back(m.taken());
    for (room& m : din_) r.din.push_back(m.taken());
    for (room& m : dparam_) r.dparam.push_back(m.taken());
    r.statistics = statistics_.taken();
    return r;
  }

  std::vector<const void*> in;
  std::vector<float*> out, din, dparam;
  std::vector<const float*> param, dout;
  std::vector<std::byte*> saved;

private:
  std::vector<room> in_, out_, din_, param_, dparam_, dout_, saved_;
  room scratch_, packed_, statistics_;
  floats running_;
};

enum class passes { forward_only, all };

inline results run(op& subject, const given& g, passes which, const circumstances& how = {}) {
  stand s(subject.needs(), g, how);
  op_call c = s.call();
  subject.pack(s.param, s.packed(), c.scratch);
  subject.forward(c);
  if (which == passes::all && how.weights_first) subject.backward_weights(c);
  if (which == passes::all) subject.backward_inputs(c);
  if (which == passes::all && !how.weights_first) subject.backward_weights(c);
  results r = s.taken();
  if (which == passes::forward_only) r.din.clear(), r.dparam.clear();
  return r;
}

using plain = std::function<void(const op_call&)>;

inline results run_plainly(const op_needs& needs, const given& g, const plain& forward,
                           const plain& backward) {
  stand s(needs, g, {});
  const op_call c = s.call();
  forward(c);
  if (backward) backward(c);
  return s.taken();
}

/// Returns the largest difference as a share of the largest expected value; not finite = infinity.
inline double worst_error(const floats& got, const floats& expected) {
  double worst = 0, largest = 1e-30;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!std::isfinite(got[i])) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::fabs(static_cast<double>(expected[i])));
    worst =
        std::max(worst, std::fabs(static_cast<double>(got[i]) - static_cast<double>(expected[i])));
  }
  return worst / largest;
}

inline void check_close(const results& got, const results& expected, double tolerance) {
  for (std::size_t i = 0; i < got.out.size(); ++i)
    BOOST_TEST(worst_error(got.out[i], expected.out[i]) <= tolerance, "out " << i);
  BOOST_TEST(worst_error(got.statistics, expected.statistics) <= tolerance, "statistics");
}

inline void check_gradients_close(const results& got, const results& expected, double tolerance) {
  for (std::size_t i = 0; i < got.din.size(); ++i)
    BOOST_TEST(worst_error(got.din[i], expected.din[i]) <= tolerance,
               "din " << i << " " << worst_error(got.din[i], expected.din[i]));
  for (std::size_t i = 0; i < got.dparam.size(); ++i)
    BOOST_TEST(worst_error(got.dparam[i], expected.dparam[i]) <= tolerance,
               "dparam " << i << " " << worst_error(got.dparam[i], expected.dparam[i]));
}

inline bool same_bits(const std::vector<floats>& a, const std::vector<floats>& b) {
  bool same = a.size() == b.size();
  for (std::size_t i = 0; same && i < a.size(); ++i)
    same = a[i].size() == b[i].size() &&
           (a[i].empty() || std::memcmp(a[i].data(), b[i].data(), a[i].size() * 4) == 0);
  return same;
}

inline bool same_bits(const results& a, const results& b) {
  return same_bits(a.out, b.out) && same_bits(a.din, b.din) && same_bits(a.dparam, b.dparam) &&
         same_bits({a.statistics}, {b.statistics});
}

/// The same bits again, at 16-byte alignment, with another scratch, with the passes swapped, in
/// another lane, and of another operator of the same shape.
inline void check_same_bits(op& subject, op& twin, const given& g, passes which,
                            const results& got) {
  BOOST_TEST(same_bits(run(subject, g, which), got), "again");
  BOOST_TEST(same_bits(run(subject, g, which, {.offset = 16}), got), "at 16 bytes");
  BOOST_TEST(same_bits(run(subject, g, which, {.offset = 4, .fill = 0x3C}), got), "other scratch");
  BOOST_TEST(same_bits(run(subject, g, which, {.weights_first = true}), got), "passes swapped");
  BOOST_TEST(same_bits(run(twin, g, which), got), "another operator");
  results elsewhere;
  std::thread([&] {
    enter_lane();
    elsewhere = run(subject, g, which);
  }).join();
  BOOST_TEST(same_bits(elsewhere, got), "in another lane");
}

template <class Shape>
struct trial {
  result<op_ptr> (*make)(const Shape&);
  void (*forward)(const Shape&, const op_call&);
  void (*backward)(const Shape&, const op_call&);
  double tolerance;  // of the tensor's largest value

  void check(const Shape& s, const std::vector<std::size_t>& in_counts, std::uint64_t seed,
             passes which = passes::all) const {
    auto built = make(s), twin = make(s);
    BOOST_REQUIRE_MESSAGE(built, (built ? std::string() : built.why().what));
    const op_needs& needs = (*built)->needs();
    const given g = given_for(needs, in_counts, seed);
    const results got = run(**built, g, which);
    plain back;
    if (which == passes::all) back = [&](const op_call& c) { backward(s, c); };
    const results expected = run_plainly(
        needs, g, [&](const op_call& c) { forward(s, c); }, back);
    check_close(got, expected, tolerance);
    if (which == passes::all) check_gradients_close(got, expected, tolerance);
    check_same_bits(**built, **twin, g, which, got);
  }

  /// The gradients of the plain loops against differences of the plain loops: along a random
  /// direction the sum of dout · out changes as they say. Returns the difference as a share.
  double difference_error(const Shape& s, const std::vector<std::size_t>& in_counts,
                          std::uint64_t seed) const {
    const op_needs needs = (*make(s))->needs();
    const given g = given_for(needs, in_counts, seed);
    const results slope = run_plainly(
        needs, g, [&](const op_call& c) { forward(s, c); },
        [&](const op_call& c) { backward(s, c); });
    given ahead = g, behind = g;
    double predicted = 0, length = 0;
    const auto turn = [&](std::vector<floats>& plus, std::vector<floats>& minus,
                          const std::vector<floats>& gradient, float before) {
      for (std::size_t i = 0; i < plus.size(); ++i) {
        const floats direction = drawn(plus[i].size(), seed, 1000 + i);
        for (std::size_t k = 0; k < plus[i].size(); ++k) {
          const float step = 0x1p-9F * direction[k];
          plus[i][k] += step, minus[i][k] -= step;
          const double g_k = static_cast<double>(gradient[i][k]) - static_cast<double>(before);
          predicted += g_k * (static_cast<double>(plus[i][k]) - static_cast<double>(minus[i][k]));
          length += std::fabs(g_k * 2 * static_cast<double>(step));
        }
      }
    };
    turn(ahead.in, behind.in, slope.din, 0);
    turn(ahead.param, behind.param, slope.dparam, 0.5F);
    const double change = weighed(s, needs, ahead) - weighed(s, needs, behind);
    return length == 0 ? std::fabs(change) : std::fabs(change - predicted) / length;
  }

private:
  double weighed(const Shape& s, const op_needs& needs, const given& g) const {
    const results r = run_plainly(needs, g, [&](const op_call& c) { forward(s, c); }, {});
    double sum = 0;
    for (std::size_t i = 0; i < r.out.size(); ++i)
      for (std::size_t k = 0; k < r.out[i].size(); ++k)
        sum += static_cast<double>(r.out[i][k]) * static_cast<double>(g.dout[i][k]);
    return sum;
  }
};

/// Whole numbers of [low, high].
class dice {
public:
  explicit dice(std::uint64_t seed) : draw_(seed, purpose::simulation, 7) {}
  std::int64_t roll(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(draw_.below(static_cast<std::uint64_t>(high - low + 1)));
  }

private:
  random draw_;
};

}  // namespace perigee::kernels::heavy
