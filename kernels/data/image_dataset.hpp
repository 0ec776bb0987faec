// Images and table rows with one label each, normalised when they are read.
//
// Threads  every const call may come from any thread.
#pragma once

#include "kernels/data/dataset.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

namespace perigee::kernels {

/// Pixels as they stand in an IDX file; each of the 256 values is normalised once, when opened.
struct byte_pixels {
  std::vector<std::byte> file;
  std::size_t begin = 0;  // of the first pixel in the file
  std::array<float, 256> normalised{};
};

class image_dataset final : public dataset {
public:
  using pixels = std::variant<byte_pixels, std::vector<float>>;

  /// `labels` has one for each sample, the samples of validation last.
  image_dataset(const dataset_info& info, pixels values, std::vector<std::int32_t> labels);

  [[nodiscard]] const dataset_info& info() const noexcept override { return info_; }
  void input(split part, std::uint64_t index, void* out) const override;
  void target(split part, std::uint64_t index, std::int32_t* out) const override;

private:
  [[nodiscard]] std::uint64_t row_of(split part, std::uint64_t index) const;
  dataset_info info_;
  pixels pixels_;
  std::vector<std::int32_t> labels_;
};

/// Normalises all values; fails with `malformed` if one leaves the range of f32.
result<void> normalise(std::span<float> values, const data_spec& spec);

/// Fills in the counts and the classes from the labels; fails with `infeasible` if validation
/// leaves none to train.
result<dataset_info> counted(dataset_info info, const data_spec& spec,
                             const std::vector<std::int32_t>& labels);

/// Returns the image that a row of features stands for: [1,√n,√n] of a square number n, else
/// [1,1,n].
[[nodiscard]] dataset_info features_shape(std::int64_t features);

/// Takes an IDX file of images and one of labels, both unzipped; `spec.content` is their digest.
result<std::shared_ptr<const dataset>> idx_dataset(const data_spec& spec,
                                                   std::vector<std::byte> images,
                                                   std::span<const std::byte> labels);

/// Takes two NumPy files: samples [N,F], [N,H,W] or [N,H,W,C] of numbers, and labels [N] of whole
/// ones; `spec.content` is their digest.
result<std::shared_ptr<const dataset>> npy_dataset(const data_spec& spec,
                                                   std::span<const std::byte> images,
                                                   std::span<const std::byte> labels);

/// Takes a file of CIFAR-10's or CIFAR-100's binary version (of the latter the fine labels), or
/// several of them one after the other; `spec.content` is its digest.
result<std::shared_ptr<const dataset>> cifar_dataset(const data_spec& spec,
                                                     std::span<const std::byte> records);

/// Takes a table of features and labels; `spec.content` is its digest.
result<std::shared_ptr<const dataset>> csv_dataset(const data_spec& spec, std::string_view content);

}  // namespace perigee::kernels
