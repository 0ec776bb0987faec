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

void put(form& f, const model_spec& m) {
  f.put("model.kind", static_cast<std::uint64_t>(m.kind));
  f.put("model.hidden", m.hidden);
  f.put("model.stages", m.stages);
  f.put("model.width", std::uint64_t{m.width});
  f.put("model.blocks", std::uint64_t{m.blocks});
  f.put("model.heads", std::uint64_t{m.heads});
  f.put("model.context", std::uint64_t{m.context});
  f.put("model.dropout", m.dropout);
}

void put(form& f, const data_spec& d) {
  f.put("data.kind", static_cast<std::uint64_t>(d.kind));
  f.put("data.content", d.content);
  f.put("data.validation_count", std::uint64_t{d.validation_count});
  f.put("data.validation_permille", std::uint64_t{d.validation_permille});
  f.put("data.scale", d.scale);
  f.put("data.mean", d.mean);
  f.put("data.deviation", d.deviation);
}

void put(form& f, const optimizer_spec& o) {
  f.put("optimizer.kind", static_cast<std::uint64_t>(o.kind));
  f.put("optimizer.learning_rate", o.learning_rate);
  f.put("optimizer.momentum", o.momentum);
  f.put("optimizer.nesterov", std::uint64_t{o.nesterov});
  f.put("optimizer.weight_decay", o.weight_decay);
  f.put("optimizer.beta1", o.beta1);
  f.put("optimizer.beta2", o.beta2);
  f.put("optimizer.epsilon", o.epsilon);
}

void put(form& f, const rate_spec& r) {
  f.put("rate.kind", static_cast<std::uint64_t>(r.kind));
  f.put("rate.warmup_steps", r.warmup_steps);
  f.put("rate.floor", r.floor);
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
  form f;
  f.put("perigee job", std::uint64_t{1});  // version of this form
  put(f, spec.model);
  put(f, spec.data);
  put(f, spec.optimizer);
  put(f, spec.rate);
  f.put("seed", spec.seed);
  if (spec.rate.kind == rate_kind::cosine) f.put("steps", spec.steps);
  f.put("mini_batch", std::uint64_t{spec.mini_batch});
  f.put("micro_batch", std::uint64_t{spec.micro_batch});
  f.put("slice", std::uint64_t{slice_size(spec)});
  f.put("clip_norm", spec.clip_norm);
  f.put("isa", std::string_view{spec.isa});
  f.put("initial_content", spec.initial_content);
  f.put("run", std::string_view{spec.run});
  return std::move(f).taken();
}

job_id id_of(const specification& spec) {
  return job_id{digest_of(bytes_of(canonical_text(spec)))};
}

}  // namespace perigee
