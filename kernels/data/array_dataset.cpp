// Images and table rows from NumPy's files and from CIFAR's records.

#include "kernels/data/image_dataset.hpp"
#include "kernels/format/npy.hpp"

#include <array>
#include <cmath>

namespace perigee::kernels {

namespace {

// --- NumPy
// -----------------------------------------------------------------------------------------

constexpr double label_max = 1 << 24;

error wrong_rank(const std::string& path, std::size_t rank, const char* want) {
  return {errc::malformed, path + ": " + std::to_string(rank) + " dimensions; " + want};
}

result<dataset_info> npy_shape(const npy_array& images, const std::string& path) {
  const auto& shape = images.shape;
  if (shape.size() < 2 || shape.size() > 4)
    return wrong_rank(path, shape.size(), "samples have 2 to 4: [N,F], [N,H,W] or [N,H,W,C]");
  for (const std::int64_t extent : shape)
    if (extent == 0) return error{errc::malformed, path + ": a dimension of 0"};
  if (shape.size() == 2) return features_shape(shape[1]);
  dataset_info info;
  info.H = shape[1];
  info.W = shape[2];
  info.C = shape.size() == 4 ? shape[3] : 1;
  return info;
}

result<std::vector<std::int32_t>> npy_labels(std::span<const std::byte> file,
                                             const std::string& path, std::int64_t samples) {
  const auto array = parse_npy(file, path);
  if (!array) return array.why();
  if (array->shape.size() != 1) return wrong_rank(path, array->shape.size(), "labels have 1");
  if (array->shape[0] != samples)
    return error{errc::malformed, path + ": " + std::to_string(array->shape[0]) + " labels for " +
                                      std::to_string(samples) + " samples"};
  std::vector<std::int32_t> labels;
  for (const double x : doubles_of(*array)) {
    if (!(x >= 0 && x < label_max) || x != std::floor(x))
      return error{errc::malformed, path + ": label " + std::to_string(x) +
                                        " is no whole number from 0 to 16777215"};
    labels.push_back(static_cast<std::int32_t>(x));
  }
  if (labels.size() != static_cast<std::size_t>(samples))
    return error{errc::unsupported, path + ": labels of type " + std::string(text(array->type))};
  return labels;
}

// --- CIFAR
// -----------------------------------------------------------------------------------------

constexpr std::int64_t side = 32, planes = 3;
constexpr std::size_t area = side * side;
constexpr std::size_t image_bytes = area * planes;

/// A record: the labels, one byte each, the one that counts last; then red, green and blue planes.
struct record_form {
  std::size_t labels = 1;
  std::int32_t classes = 10;
  [[nodiscard]] std::size_t size() const noexcept { return labels + image_bytes; }
};

}  // namespace

result<std::shared_ptr<const dataset>> npy_dataset(const data_spec& spec,
                                                   std::span<const std::byte> images,
                                                   std::span<const std::byte> labels) {
  const auto array = parse_npy(images, spec.path);
  if (!array) return array.why();
  const auto shape = npy_shape(*array, spec.path);
  if (!shape) return shape.why();
  auto numbers = npy_labels(labels, spec.labels_path, array->shape[0]);
  if (!numbers) return numbers.why();
  const auto info = counted(*shape, spec, *numbers);
  if (!info) return info.why();
  const auto raw = doubles_of(*array);
  if (raw.empty())
    return error{errc::unsupported,
                 spec.path + ": samples of type " + std::string(text(array->type))};
  std::vector<float> values(raw.begin(), raw.end());
  if (auto done = normalise(values, spec); !done) return done.why();
  return std::shared_ptr<const dataset>(
      std::make_shared<image_dataset>(*info, std::move(values), std::move(*numbers)));
}

result<std::shared_ptr<const dataset>> cifar_dataset(const data_spec& spec,
                                                     std::span<const std::byte> records) {
  const bool hundred = spec.kind == data_kind::cifar100;
  const record_form form{hundred ? 2U : 1U, hundred ? 100 : 10};
  if (records.empty() || records.size() % form.size() != 0)
    return error{errc::malformed, spec.path + ": " + std::to_string(records.size()) +
                                      " bytes are no whole number of records of " +
                                      std::to_string(form.size())};
  const std::size_t count = records.size() / form.size();
  std::array<float, 256> level{};
  for (std::size_t i = 0; i < level.size(); ++i) level[i] = static_cast<float>(i);
  if (auto done = normalise(level, spec); !done) return done.why();
  std::vector<std::int32_t> labels;
  std::vector<float> values(count * image_bytes);
  for (std::size_t i = 0; i < count; ++i) {
    const auto record = records.subspan(i * form.size(), form.size());
    const auto label = std::to_integer<std::int32_t>(record[form.labels - 1]);
    if (label >= form.classes)
      return error{errc::malformed, spec.path + ": label " + std::to_string(label) + " of record " +
                                        std::to_string(i) + ", the classes are " +
                                        std::to_string(form.classes)};
    labels.push_back(label);
    const auto pixels = record.subspan(form.labels);
    float* out = values.data() + i * image_bytes;  // [H,W,C]
    for (std::size_t c = 0; c < planes; ++c)
      for (std::size_t p = 0; p < area; ++p)
        out[p * planes + c] = level[std::to_integer<std::size_t>(pixels[c * area + p])];
  }
  dataset_info shape;
  shape.C = planes, shape.H = side, shape.W = side;
  auto info = counted(shape, spec, labels);
  if (!info) return info.why();
  info->classes = form.classes;
  return std::shared_ptr<const dataset>(
      std::make_shared<image_dataset>(*info, std::move(values), std::move(labels)));
}

}  // namespace perigee::kernels
