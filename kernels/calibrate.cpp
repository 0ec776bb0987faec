#include "kernels/calibrate.hpp"

#include "kernels/engine.hpp"
#include "kernels/ops/ops.hpp"
#include "proto/base/hash.hpp"
#include "proto/base/random.hpp"

#include <oneapi/dnnl/dnnl.h>

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

namespace perigee::kernels {
namespace {

struct named_isa {
  std::string_view name;
  dnnl_cpu_isa_t isa{};
};

// In order: each holds to what the ones before it hold, but for avx2_vnni.
constexpr std::array isas = {named_isa{"sse41", dnnl_cpu_isa_sse41},
                             named_isa{"avx", dnnl_cpu_isa_avx},
                             named_isa{"avx2", dnnl_cpu_isa_avx2},
                             named_isa{"avx2_vnni", dnnl_cpu_isa_avx2_vnni},
                             named_isa{"avx512_core", dnnl_cpu_isa_avx512_core},
                             named_isa{"avx512_core_vnni", dnnl_cpu_isa_avx512_core_vnni},
                             named_isa{"avx512_core_bf16", dnnl_cpu_isa_avx512_core_bf16},
                             named_isa{"avx512_core_amx", dnnl_cpu_isa_avx512_core_amx}};

result<named_isa> isa_named(std::string_view name) {
  const auto* found =
      std::find_if(isas.begin(), isas.end(), [&](const named_isa& i) { return i.name == name; });
  if (found != isas.end()) return *found;
  std::string names;
  for (const named_isa& i : isas) names += (names.empty() ? "" : ", ") + std::string(i.name);
  return error{errc::unsupported,
               "instruction set `" + std::string(name) + "` is unknown; the names are " + names};
}

/// A kernel that can be run again and again: its operator and all that it points to.
class subject {
public:
  subject(op_ptr what, std::vector<std::size_t> in_counts, std::uint64_t stream)
      : op_(std::move(what)) {
    random draw(1, purpose::identity, stream);
    const auto drawn = [&](std::size_t count) {
      std::vector<float> values(count);
      for (float& v : values) v = draw.uniform() - 0.5F;
      return values;
    };
    const op_needs& needs = op_->needs();
    for (const std::size_t n : in_counts) in_.push_back(drawn(n));
    for (const std::size_t n : needs.param_count) param_.push_back(drawn(n));
    out_.resize(needs.out_count.at(0));
    packed_.resize(needs.packed_bytes);
    scratch_.resize(needs.scratch_bytes);
    for (const auto& v : in_) in_at_.push_back(v.data());
    for (const auto& v : param_) param_at_.push_back(v.data());
    out_at_ = {out_.data()};
    op_->pack(param_at_, packed_.data(), scratch_.data());
  }

  void run() {
    op_call c;
    c.in = in_at_, c.param = param_at_, c.out = out_at_;
    c.packed = packed_.data(), c.scratch = scratch_.data();
    op_->forward(c);
  }

  std::uint64_t work() const { return op_->needs().forward_work; }

  std::uint64_t output_hash() const {
    std::uint64_t h = out_.size();
    for (const float v : out_) h = hash_of(h, std::bit_cast<std::uint32_t>(v));
    return h;
  }

private:
  op_ptr op_;
  std::vector<std::vector<float>> in_, param_;
  std::vector<float> out_;
  std::vector<std::byte> packed_, scratch_;
  std::vector<const void*> in_at_;
  std::vector<const float*> param_at_;
  std::vector<float*> out_at_;
};

subject product_of(std::int64_t R, std::int64_t C, std::int64_t N) {
  return {*make_linear({.R = R, .C = C, .N = N}), {static_cast<std::size_t>(R * C)}, 1};
}

subject convolution_of(std::int64_t channels, std::int64_t side, std::int64_t groups) {
  const conv2d_shape s{.B = 4,
                       .C = channels,
                       .H = side,
                       .W = side,
                       .N = channels,
                       .KH = 3,
                       .KW = 3,
                       .padding = 1,
                       .groups = groups,
                       .bias = false,
                       .isa = {}};
  return {*make_conv2d(s), {static_cast<std::size_t>(4 * side * side * channels)}, 2};
}

/// Seconds of CPU time of this thread: other processes on the machine do not slow a lane down.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Returns units a second of the fastest of the runs that fit in 60 ms; the first only warms up.
template <class Run>
std::uint64_t rate_of(std::uint64_t units, const Run& run) {
  constexpr double patience = 0.06;
  constexpr int runs_min = 3, runs_max = 1000;
  const double begin = thread_seconds();
  run();
  double best = 1e9;
  for (int n = 0; n < runs_min || (n < runs_max && thread_seconds() - begin < patience); ++n) {
    const double start = thread_seconds();
    run();
    best = std::min(best, thread_seconds() - start);
  }
  return static_cast<std::uint64_t>(static_cast<double>(units) / std::max(best, 1e-9));
}

std::uint64_t rate_of(subject what) {
  return rate_of(what.work(), [&] { what.run(); });
}

std::uint64_t memory_rate() {
  constexpr std::size_t size = 8U << 20U;
  std::vector<char> from(size, 1), to(size, 2);
  return rate_of(2 * size, [&] {
    std::memcpy(to.data(), from.data(), size);
    asm volatile("" : : "r"(to.data()) : "memory");
  });
}

std::uint64_t fingerprint_of_this_machine() {
  const dnnl_version_t* v = dnnl_version();
  std::uint64_t h =
      hash_of(static_cast<std::uint64_t>(v->major), static_cast<std::uint64_t>(v->minor),
              static_cast<std::uint64_t>(v->patch), hash_of(std::string_view(v->hash)),
              hash_of(std::string_view(effective_isa())));
  for (const int level : {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE})
    h = hash_of(h, static_cast<std::uint64_t>(sysconf(level)));
  std::vector<subject> kernels;
  kernels.push_back(product_of(33, 401, 65));
  kernels.push_back(product_of(1, 96, 10));
  kernels.push_back(convolution_of(24, 9, 1));
  kernels.push_back(convolution_of(24, 9, 24));
  for (subject& k : kernels) {
    k.run();
    h = hash_of(h, k.output_hash());
  }
  return h;
}

}  // namespace

calibration calibrate() {
  enter_lane();
  calibration found;
  found.rate = {rate_of(product_of(256, 256, 256)), rate_of(convolution_of(64, 16, 1)),
                rate_of(convolution_of(64, 16, 64)), memory_rate()};
  found.fingerprint = fingerprint_of_this_machine();
  return found;
}

result<void> cap_isa(std::string_view isa) {
  const auto wanted = isa_named(isa);
  if (!wanted) return wanted.why();
  if (dnnl_set_max_cpu_isa(wanted->isa) != dnnl_success)
    return error{errc::unsupported, "instruction set `" + std::string(isa) +
                                        "` comes too late: kernels of this process have run"};
  return {};
}

std::string effective_isa() {
  const dnnl_cpu_isa_t now = dnnl_get_effective_cpu_isa();
  for (const named_isa& i : isas)
    if (i.isa == now) return std::string(i.name);
  return "isa " + std::to_string(static_cast<int>(now));
}

result<void> within_isa(std::string_view cap) {
  if (cap.empty()) return {};
  const auto wanted = isa_named(cap);
  if (!wanted) return wanted.why();
  const auto bits = [](dnnl_cpu_isa_t isa) { return static_cast<unsigned>(isa); };
  const unsigned beyond = bits(dnnl_get_effective_cpu_isa()) & ~bits(wanted->isa);
  if (beyond == 0) return {};
  return error{errc::unsupported, "instruction set `" + std::string(cap) +
                                      "` is asked for, but this process uses " + effective_isa()};
}

}  // namespace perigee::kernels
