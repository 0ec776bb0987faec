#include "proto/digest.hpp"

#include "proto/base/check.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>
#include <string_view>
#include <vector>

namespace perigee {

namespace {

digest128 from(XXH128_hash_t hash) noexcept { return {hash.high64, hash.low64}; }

std::span<const std::byte> bytes_of(std::string_view words) noexcept {
  return std::as_bytes(std::span{words.data(), words.size()});
}

std::string hexadecimal(std::uint64_t value) { return text(digest128{value, 0}).substr(0, 16); }

/// Collects the lines of the canonical text.
class form {
public:
  void put(std::string_view field, std::uint64_t value) { line(field, std::to_string(value)); }
  /// Zero has one form, whatever its sign.
  void put(std::string_view field, double value) {
    line(field, hexadecimal(std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value)));
  }
  void put(std::string_view field, const digest128& value) { line(field, text(value)); }
  /// Length first, so that no content can look like another line.
  void put(std::string_view field, std::string_view value) {
    line(field, std::to_string(value.size()) + ':' + std::string(value));
  }
  void put(std::string_view field, const std::vector<std::uint32_t>& values) {
    std::string list;
    for (const std::uint32_t value : values) list += std::to_string(value) + ',';
    line(field, list);
  }
  [[nodiscard]] std::string taken() && { return std::move(lines_); }

private:
  void line(std::string_view field, std::string_view value) {
    lines_.append(field).append("=").append(value).append("\n");
  }
  std::string lines_;
};

// Each struct is taken apart by a structured binding: a new field does not compile before somebody
// decides whether it is part of the identity.

void put(form& f, const model_spec& m) {
  const auto& [kind, hidden, stages, width, blocks, heads, context, dropout, file, content] = m;
  f.put("model.kind", static_cast<std::uint64_t>(kind));
  f.put("model.hidden", hidden);
  f.put("model.stages", stages);
  f.put("model.width", std::uint64_t{width});
  f.put("model.blocks", std::uint64_t{blocks});
  f.put("model.heads", std::uint64_t{heads});
  f.put("model.context", std::uint64_t{context});
  f.put("model.dropout", dropout);
  // Only where it means something: jobs of the other kinds keep the identity they always had.
  if (kind == model_kind::onnx) f.put("model.content", content);
}

void put(form& f, const data_spec& d) {
  const auto& [kind, path, labels_path, content, validation_count, validation_permille, scale, mean,
               deviation] = d;
  f.put("data.kind", static_cast<std::uint64_t>(kind));
  f.put("data.content", content);
  f.put("data.validation_count", std::uint64_t{validation_count});
  f.put("data.validation_permille", std::uint64_t{validation_permille});
  f.put("data.scale", scale);
  f.put("data.mean", mean);
  f.put("data.deviation", deviation);
}

void put(form& f, const optimizer_spec& o) {
  const auto& [kind, learning_rate, momentum, nesterov, weight_decay, beta1, beta2, epsilon] = o;
  f.put("optimizer.kind", static_cast<std::uint64_t>(kind));
  f.put("optimizer.learning_rate", learning_rate);
  f.put("optimizer.momentum", momentum);
  f.put("optimizer.nesterov", std::uint64_t{nesterov});
  f.put("optimizer.weight_decay", weight_decay);
  f.put("optimizer.beta1", beta1);
  f.put("optimizer.beta2", beta2);
  f.put("optimizer.epsilon", epsilon);
}

void put(form& f, const rate_spec& r) {
  const auto& [kind, warmup_steps, floor] = r;
  f.put("rate.kind", static_cast<std::uint64_t>(kind));
  f.put("rate.warmup_steps", warmup_steps);
  f.put("rate.floor", floor);
}

}  // namespace

digest128 digest_of(std::span<const std::byte> content) noexcept {
  return from(XXH3_128bits(content.data(), content.size()));
}

std::uint64_t checksum_of(std::span<const std::byte> content) noexcept {
  return XXH3_64bits(content.data(), content.size());
}

struct digester::state {
  XXH3_state_t hash;
};

digester::digester() : state_(std::make_unique<state>()) {
  CHECK(XXH3_128bits_reset(&state_->hash) == XXH_OK);
}
digester::~digester() = default;
digester::digester(digester&&) noexcept = default;
digester& digester::operator=(digester&&) noexcept = default;

void digester::add(std::span<const std::byte> piece) noexcept {
  if (piece.empty()) return;  // xxHash refuses a null pointer, even of no bytes
  CHECK(XXH3_128bits_update(&state_->hash, piece.data(), piece.size()) == XXH_OK);
}

digest128 digester::value() const noexcept { return from(XXH3_128bits_digest(&state_->hash)); }

digest128 combined(std::span<const digest128> parts) {
  std::vector<std::byte> all;
  all.reserve(parts.size() * 16);
  for (const digest128& part : parts)
    for (const std::uint64_t half : {part.high, part.low})
      for (unsigned shift = 0; shift < 64; shift += 8)
        all.push_back(static_cast<std::byte>(half >> shift));
  return digest_of(all);
}

std::string canonical_text(const specification& spec) {
  const auto& [model, data, optimizer, rate, seed, steps, mini_batch, micro_batch, slice, clip_norm,
               isa, initial_weights, initial_content, run] = spec;
  form f;
  f.put("perigee job", std::uint64_t{1});  // version of this form
  put(f, model);
  put(f, data);
  put(f, optimizer);
  put(f, rate);
  f.put("seed", seed);
  if (rate.kind == rate_kind::cosine) f.put("steps", steps);
  f.put("mini_batch", std::uint64_t{mini_batch});
  f.put("micro_batch", std::uint64_t{micro_batch});
  f.put("slice", std::uint64_t{slice_size(spec)});
  f.put("clip_norm", clip_norm);
  f.put("isa", std::string_view{isa});
  f.put("initial_content", initial_content);
  f.put("run", std::string_view{run});
  return std::move(f).taken();
}

job_id id_of(const specification& spec) {
  return job_id{digest_of(bytes_of(canonical_text(spec)))};
}

}  // namespace perigee
