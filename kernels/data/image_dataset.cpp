#include "kernels/data/image_dataset.hpp"

#include "kernels/format/csv.hpp"
#include "kernels/format/idx.hpp"
#include "proto/base/check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

namespace perigee::kernels {

namespace {

/// In double, rounded once: every peer gets the same f32.
float normalised(double raw, const data_spec& spec) {
  return static_cast<float>((raw * spec.scale - spec.mean) / spec.deviation);
}

/// Returns the image that an IDX shape [N,H,W] or [N,H,W,C] stands for.
result<dataset_info> image_shape(const std::vector<std::int64_t>& shape, const std::string& path) {
  dataset_info info;
  if (shape.size() < 3) {
    return error{errc::malformed, "idx " + path + ": " + std::to_string(shape.size()) +
                                      " dimensions; images have 3 or 4"};
  }
  info.H = shape[1];
  info.W = shape[2];
  info.C = shape.size() == 4 ? shape[3] : 1;
  if (info.H == 0 || info.W == 0 || info.C == 0) {
    return error{errc::malformed, "idx " + path + ": images without pixels"};
  }
  return info;
}

result<std::vector<std::int32_t>> idx_labels(std::span<const std::byte> file,
                                             const std::string& path, std::int64_t images) {
  const auto array = parse_idx(file, path);
  if (!array) return array.why();
  if (array->shape.size() != 1) {
    return error{errc::malformed, "idx " + path + ": " + std::to_string(array->shape.size()) +
                                      " dimensions; labels have 1"};
  }
  if (array->shape[0] != images) {
    return error{errc::malformed, "idx " + path + ": " + std::to_string(array->shape[0]) +
                                      " labels for " + std::to_string(images) + " images"};
  }
  std::vector<std::int32_t> labels;
  labels.reserve(array->values.size());
  for (const std::byte value : array->values) labels.push_back(std::to_integer<int>(value));
  return labels;
}

}  // namespace

result<void> normalise(std::span<float> values, const data_spec& spec) {
  for (float& value : values) {
    const float raw = value;
    value = normalised(raw, spec);
    if (!std::isfinite(value)) {
      return error{errc::malformed, spec.path + ": value " + std::to_string(raw) +
                                        ", scaled and normalised, is no finite f32"};
    }
  }
  return {};
}

result<dataset_info> counted(dataset_info info, const data_spec& spec,
                             const std::vector<std::int32_t>& labels) {
  if (labels.size() <= spec.validation_count) {
    return error{errc::infeasible, spec.path + ": " + std::to_string(labels.size()) +
                                       " samples, of which " +
                                       std::to_string(spec.validation_count) +
                                       " are kept for validation: none are left to train"};
  }
  info.kind = sample_kind::image;
  info.content = spec.content;
  info.training_count = labels.size() - spec.validation_count;
  info.validation_count = spec.validation_count;
  info.classes = std::int64_t{*std::ranges::max_element(labels)} + 1;
  return info;
}

dataset_info features_shape(std::int64_t features) {
  dataset_info shape;
  const auto side =
      static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(features))));
  const bool square = side * side == features;
  shape.C = 1;
  shape.H = square ? side : 1;
  shape.W = square ? side : features;
  return shape;
}

image_dataset::image_dataset(const dataset_info& info, pixels values,
                             std::vector<std::int32_t> labels)
    : info_(info), pixels_(std::move(values)), labels_(std::move(labels)) {
  CHECK(labels_.size() == info_.training_count + info_.validation_count);
}

std::uint64_t image_dataset::row_of(split part, std::uint64_t index) const {
  if (part == split::training) {
    CHECK(index < info_.training_count);
    return index;
  }
  CHECK(index < info_.validation_count);
  return info_.training_count + index;
}

void image_dataset::input(split part, std::uint64_t index, void* out) const {
  const auto size = static_cast<std::size_t>(info_.H * info_.W * info_.C);
  const std::size_t first = row_of(part, index) * size;
  if (const auto* floats = std::get_if<std::vector<float>>(&pixels_)) {
    std::memcpy(out, floats->data() + first, size * sizeof(float));
    return;
  }
  const auto& bytes = std::get<byte_pixels>(pixels_);
  const std::byte* raw = bytes.file.data() + bytes.begin + first;
  auto* values = static_cast<float*>(out);  // [H,W,C]
  for (std::size_t i = 0; i < size; ++i) {
    values[i] = bytes.normalised[std::to_integer<std::size_t>(raw[i])];
  }
}

void image_dataset::target(split part, std::uint64_t index, std::int32_t* out) const {
  *out = labels_[row_of(part, index)];
}

result<std::shared_ptr<const dataset>> idx_dataset(const data_spec& spec,
                                                   std::vector<std::byte> images,
                                                   std::span<const std::byte> labels) {
  const auto array = parse_idx(images, spec.path);
  if (!array) return array.why();
  const auto shape = image_shape(array->shape, spec.path);
  if (!shape) return shape.why();
  auto numbers = idx_labels(labels, spec.labels_path, array->shape[0]);
  if (!numbers) return numbers.why();
  const auto info = counted(*shape, spec, *numbers);
  if (!info) return info.why();
  byte_pixels pixels;
  pixels.begin = images.size() - array->values.size();
  pixels.file = std::move(images);
  std::iota(pixels.normalised.begin(), pixels.normalised.end(), 0.0F);
  if (auto done = normalise(pixels.normalised, spec); !done) return done.why();
  return std::shared_ptr<const dataset>(
      std::make_shared<image_dataset>(*info, std::move(pixels), std::move(*numbers)));
}

result<std::shared_ptr<const dataset>> csv_dataset(const data_spec& spec,
                                                   std::string_view content) {
  auto table = parse_csv(content, spec.path);
  if (!table) return table.why();
  const auto info = counted(features_shape(table->features), spec, table->labels);
  if (!info) return info.why();
  if (auto done = normalise(table->values, spec); !done) return done.why();
  return std::shared_ptr<const dataset>(
      std::make_shared<image_dataset>(*info, std::move(table->values), std::move(table->labels)));
}

}  // namespace perigee::kernels
