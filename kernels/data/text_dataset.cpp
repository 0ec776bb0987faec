#include "kernels/data/text_dataset.hpp"

#include "proto/base/check.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace perigee::kernels {

namespace {

std::uint64_t token_count(const encoded_text& text) {
  return std::visit([](const auto& ids) { return std::uint64_t{ids.size()}; }, text.tokens);
}

/// A sample is `context` tokens and the one after them.
error too_small(const data_spec& spec, std::uint64_t characters, const std::string& part,
                std::uint64_t context) {
  return {errc::infeasible, spec.path + ": " + std::to_string(characters) + " characters for " +
                                part + "; a context of " + std::to_string(context) + " needs " +
                                std::to_string(context + 1)};
}

}  // namespace

text_dataset::text_dataset(const dataset_info& info, encoded_text text, std::uint64_t training_size)
    : info_(info),
      text_(std::move(text)),
      training_size_(training_size),
      size_(token_count(text_)) {
  CHECK(info_.training_count + static_cast<std::uint64_t>(info_.T) == training_size_);
}

text_dataset::window text_dataset::window_of(split part, std::uint64_t index) const {
  if (part == split::training) {
    CHECK(index < info_.training_count);
    return {index, 0};
  }
  CHECK(index < info_.validation_count);
  const auto T = static_cast<std::uint64_t>(info_.T);
  const std::uint64_t wanted = training_size_ + index * T;
  const std::uint64_t begin = std::min(wanted, size_ - T - 1);  // the last one ends with the text
  return {begin, wanted - begin};
}

void text_dataset::copy(std::uint64_t begin, std::int32_t* out) const {
  std::visit(
      [&](const auto& ids) {
        const auto first = ids.begin() + static_cast<std::ptrdiff_t>(begin);
        std::transform(first, first + static_cast<std::ptrdiff_t>(info_.T), out,
                       [](auto id) { return static_cast<std::int32_t>(id); });
      },
      text_.tokens);
}

void text_dataset::input(split part, std::uint64_t index, void* out) const {
  copy(window_of(part, index).begin, static_cast<std::int32_t*>(out));
}

void text_dataset::target(split part, std::uint64_t index, std::int32_t* out) const {
  const window place = window_of(part, index);
  copy(place.begin + 1, out);
  std::fill_n(out, place.counted, not_counted);
}

std::string text_dataset::symbol(std::int32_t id) const {
  if (id < 0 || id >= info_.classes) return {};
  return utf8(text_.vocabulary[static_cast<std::size_t>(id)]);
}

result<std::shared_ptr<const dataset>> text_dataset_of(const data_spec& spec, std::int64_t context,
                                                       std::span<const std::byte> content) {
  if (context <= 0) {
    return error{errc::infeasible,
                 spec.path + ": a context of " + std::to_string(context) + " tokens"};
  }
  const auto T = static_cast<std::uint64_t>(context);
  auto text = encode_text(content, spec.path);
  if (!text) return text.why();
  const std::uint64_t size = token_count(*text);
  const std::uint64_t kept = 1000 - std::min<std::uint64_t>(spec.validation_permille, 1000);
  const std::uint64_t training_size = size * kept / 1000;
  const std::uint64_t tail = size - training_size;
  if (training_size < T + 1) return too_small(spec, training_size, "training", T);
  const bool validates = spec.validation_permille > 0;
  if (validates && tail < T + 1) return too_small(spec, tail, "validation", T);
  dataset_info info;
  info.kind = sample_kind::tokens;
  info.content = spec.content;
  info.T = context;
  info.classes = static_cast<std::int64_t>(text->vocabulary.size());
  info.training_count = training_size - T;
  info.validation_count = validates ? (tail - 1 + T - 1) / T : 0;
  return std::shared_ptr<const dataset>(
      std::make_shared<text_dataset>(info, std::move(*text), training_size));
}

}  // namespace perigee::kernels
