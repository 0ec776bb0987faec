#include "kernels/data/dataset.hpp"

#include "kernels/data/image_dataset.hpp"
#include "kernels/data/sampler.hpp"
#include "kernels/data/text_dataset.hpp"
#include "kernels/format/gzip.hpp"
#include "proto/digest.hpp"

#include <cmath>
#include <span>
#include <utility>
#include <vector>

namespace perigee::kernels {

namespace {

result<void> check_numbers(const data_spec& spec) {
  const bool fine = std::isfinite(spec.scale) && std::isfinite(spec.mean) &&
                    std::isfinite(spec.deviation) && spec.deviation != 0;
  if (fine) return {};
  return error{errc::malformed, spec.path + ": scale " + std::to_string(spec.scale) + ", mean " +
                                    std::to_string(spec.mean) + ", deviation " +
                                    std::to_string(spec.deviation) +
                                    ": all must be finite, and the deviation not 0"};
}

/// Returns the content's digest; fails if the specification names another.
result<digest128> checked_content(const data_spec& spec, std::span<const std::byte> first,
                                  std::span<const std::byte> second) {
  digester content;
  content.add(first);
  content.add(second);
  const digest128 found = content.value();
  if (spec.content == digest128{} || spec.content == found) return found;
  const std::string files =
      spec.labels_path.empty() ? spec.path : spec.path + " with " + spec.labels_path;
  return error{errc::malformed, files + ": the content's digest is " + text(found) +
                                    ", the job names " + text(spec.content)};
}

result<std::shared_ptr<const dataset>> open_pair(data_spec spec) {
  auto images = read_unzipped(spec.path);
  if (!images) return images.why();
  const auto labels = read_unzipped(spec.labels_path);
  if (!labels) return labels.why();
  const auto content = checked_content(spec, *images, *labels);
  if (!content) return content.why();
  spec.content = *content;
  if (spec.kind == data_kind::npy) return npy_dataset(spec, *images, *labels);
  return idx_dataset(spec, std::move(*images), *labels);
}

result<std::shared_ptr<const dataset>> open_single(data_spec spec, std::int64_t context) {
  const auto file = read_unzipped(spec.path);
  if (!file) return file.why();
  const auto content = checked_content(spec, *file, {});
  if (!content) return content.why();
  spec.content = *content;
  if (spec.kind == data_kind::text) return text_dataset_of(spec, context, *file);
  if (spec.kind != data_kind::csv) return cifar_dataset(spec, *file);
  return csv_dataset(spec, {reinterpret_cast<const char*>(file->data()), file->size()});
}

}  // namespace

std::uint64_t dataset::sample_at(std::uint64_t seed, std::uint64_t position) const {
  return sample_of(seed, position, info().training_count);
}

std::string dataset::symbol(std::int32_t) const { return {}; }

result<std::shared_ptr<const dataset>> open_dataset(const data_spec& spec, std::int64_t context) {
  if (auto fine = check_numbers(spec); !fine) return fine.why();
  const bool pair = spec.kind == data_kind::idx || spec.kind == data_kind::npy;
  return pair ? open_pair(spec) : open_single(spec, context);
}

}  // namespace perigee::kernels
