// Values drawn from a seed, with every field filled. A field that nobody fills does not compile.
#pragma once

#include "proto/base/random.hpp"
#include "proto/codec.hpp"

#include <array>
#include <concepts>
#include <string>
#include <utility>
#include <vector>

namespace perigee::tests {

using source = perigee::random;

void fill(source& r, std::unsigned_integral auto& x) {
  x = static_cast<std::remove_reference_t<decltype(x)>>(r.word64());
}
inline void fill(source& r, bool& x) { x = r.below(2) == 1; }
inline void fill(source& r, double& x) { x = (r.uniform() - 0.5) * 1e6; }
inline void fill(source& r, std::string& x) {
  x.resize(r.below(40));
  for (char& letter : x) letter = static_cast<char>(r.below(256));
}
inline void fill(source& r, duration& x) { x = duration{static_cast<std::int64_t>(r.word64())}; }

template <class T>
concept named = std::is_enum_v<T>;

constexpr unsigned last_of(model_kind) { return static_cast<unsigned>(model_kind::onnx); }
constexpr unsigned last_of(data_kind) { return static_cast<unsigned>(data_kind::cifar100); }
constexpr unsigned last_of(optimizer_kind) { return static_cast<unsigned>(optimizer_kind::adamw); }
constexpr unsigned last_of(rate_kind) { return static_cast<unsigned>(rate_kind::cosine); }
constexpr unsigned last_of(schedule_kind) {
  return static_cast<unsigned>(schedule_kind::one_f_one_b);
}
constexpr unsigned last_of(job_phase) { return static_cast<unsigned>(job_phase::halted); }
constexpr unsigned last_of(errc) { return static_cast<unsigned>(errc::io); }
constexpr unsigned last_of(tensor_kind) { return static_cast<unsigned>(tensor_kind::state); }
constexpr unsigned last_of(hello_role) { return static_cast<unsigned>(hello_role::client); }
constexpr unsigned last_of(hello_channel) { return static_cast<unsigned>(hello_channel::bulk); }

void fill(source& r, named auto& x) {
  x = static_cast<std::remove_reference_t<decltype(x)>>(r.below(last_of(x) + 1));
}

template <class T>
void fill(source& r, std::vector<T>& x);

#define PERIGEE_FILL(TYPE, ...)             \
  inline void fill(source& r, TYPE& x) {    \
    auto& [__VA_ARGS__] = x;                \
    const auto all = [&](auto&... fields) { \
      (void)r;                              \
      (fill(r, fields), ...);               \
    };                                      \
    all(__VA_ARGS__);                       \
  }

PERIGEE_FILL(bytes, count)
PERIGEE_FILL(digest128, high, low)
PERIGEE_FILL(peer_id, value)
PERIGEE_FILL(job_id, value)
PERIGEE_FILL(speed, matrix, convolution, depthwise, memory)
PERIGEE_FILL(error, code, what)
PERIGEE_FILL(tensor_ref, kind, step, layer, index)
PERIGEE_FILL(non_finite, layer, micro_batch)

PERIGEE_FILL(model_spec, kind, hidden, stages, width, blocks, heads, context, dropout, file,
             content)
PERIGEE_FILL(data_spec, kind, path, labels, content, count, permille, scale, mean, deviation)
PERIGEE_FILL(optimizer_spec, kind, rate, momentum, nesterov, decay, beta1, beta2, epsilon)
PERIGEE_FILL(rate_spec, kind, warmup, floor)
PERIGEE_FILL(specification, model, data, optimizer, rate, seed, steps, mini_batch, micro_batch,
             slice, clip_norm, isa, weights, content, run)
PERIGEE_FILL(wishes, name, stages, replicas, shares, order, schedule)

PERIGEE_FILL(member, peer, slice_first, slice_count, workers)
PERIGEE_FILL(stage, layer_first, layer_count, in_flight_max, group)
PERIGEE_FILL(plan, job, epoch, schedule, stages, predicted)

PERIGEE_FILL(peer_record, peer, incarnation, version, name, address, workers, offer, rate, print)
PERIGEE_FILL(ping, count)
PERIGEE_FILL(pong, count)
PERIGEE_FILL(job_record, job, spec, wanted, after_epoch)
PERIGEE_FILL(proposal, what, base_step)
PERIGEE_FILL(acceptance, job, epoch, digest)
PERIGEE_FILL(refusal, job, epoch, digest, why, needed, offered)
PERIGEE_FILL(commitment, what)
PERIGEE_FILL(measurement, job, epoch, step, stage, finite, where, values, loss_bits, counted)
PERIGEE_FILL(state_report, job, epoch, step, layer_first, states)
PERIGEE_FILL(halt, job, epoch, step, why)
PERIGEE_FILL(submission, what)
PERIGEE_FILL(receipt, job, accepted, why)
PERIGEE_FILL(subscription, job)
PERIGEE_FILL(commit_record, job, epoch, step, loss_bits, counted, micro_batches, states)
PERIGEE_FILL(peer_work, peer, micro_batches, sent, received, computing, memory, offered)
PERIGEE_FILL(progress, job, phase, step, steps, last, current, why, work, measured)
PERIGEE_FILL(account, job, work)
PERIGEE_FILL(remark, job, line)
PERIGEE_FILL(neighbour, record, linked, round_trip, sent, received)
PERIGEE_FILL(status_report, self, neighbours, jobs, dropped)
PERIGEE_FILL(state_request, job, layer)
PERIGEE_FILL(missing, job, layer, why)
inline void fill(source&, status_request&) {}
inline void fill(source&, farewell&) {}

PERIGEE_FILL(hello, version_min, version_max, peer, incarnation, role, channel, nonce, name)

#undef PERIGEE_FILL

template <class T>
void fill(source& r, std::vector<T>& x) {
  x.resize(1 + r.below(3));
  for (T& element : x) fill(r, element);
}

/// Returns a value of T drawn from `r`.
template <class T>
T arbitrary(source& r) {
  T x{};
  fill(r, x);
  return x;
}

inline constexpr std::size_t message_kind_count = std::variant_size_v<message>;

/// Returns a message of the alternative with this index.
inline message arbitrary_message(source& r, std::size_t kind) {
  using maker = message (*)(source&);
  static constexpr auto makers = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<maker, sizeof...(I)>{[](source& from) -> message {
      return arbitrary<std::variant_alternative_t<I, message>>(from);
    }...};
  }
  (std::make_index_sequence<message_kind_count>{});
  return makers.at(kind)(r);
}

inline chunk_header arbitrary_chunk_header(source& r) {
  chunk_header h;
  h.job = arbitrary<job_id>(r);
  h.plan_digest = r.word64();
  h.what = arbitrary<tensor_ref>(r);
  h.length = r.word();
  h.offset = r.word64() >> 1U;
  h.size = {h.offset + h.length + r.word()};
  h.checksum = r.word64();
  return h;
}

}  // namespace perigee::tests
