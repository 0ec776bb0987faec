// A data set that is what a test says, in the order in which the test says it.
#pragma once

#include "kernels/data/dataset.hpp"

#include <cstring>
#include <utility>
#include <vector>

namespace perigee::test {

/// Sample i is the i-th of `inputs` (f32 [H,W,C] or i32 [T]); position p of the training is sample
/// p mod count. Validation is the same samples.
class fixed_dataset final : public kernels::dataset {
public:
  fixed_dataset(kernels::dataset_info info, std::vector<float> images,
                std::vector<std::int32_t> targets)
      : info_(std::move(info)), images_(std::move(images)), targets_(std::move(targets)) {
    finish();
  }
  fixed_dataset(kernels::dataset_info info, std::vector<std::int32_t> tokens,
                std::vector<std::int32_t> targets)
      : info_(std::move(info)), tokens_(std::move(tokens)), targets_(std::move(targets)) {
    finish();
  }

  [[nodiscard]] const kernels::dataset_info& info() const noexcept override { return info_; }

  void input(kernels::split, std::uint64_t index, void* out) const override {
    const bool image = info_.kind == kernels::sample_kind::image;
    const std::size_t count = input_count();
    const void* from = image ? static_cast<const void*>(images_.data() + index * count)
                             : static_cast<const void*>(tokens_.data() + index * count);
    std::memcpy(out, from, count * 4);
  }
  void target(kernels::split, std::uint64_t index, std::int32_t* out) const override {
    std::memcpy(out, targets_.data() + index * target_count(), target_count() * 4);
  }
  [[nodiscard]] std::uint64_t sample_at(std::uint64_t, std::uint64_t position) const override {
    return position % info_.training_count;
  }
  [[nodiscard]] std::string symbol(std::int32_t id) const override {
    return id >= 0 && id < info_.classes && id < 26 ? std::string(1, static_cast<char>('a' + id))
                                                    : std::string();
  }

private:
  [[nodiscard]] std::size_t input_count() const noexcept {
    return static_cast<std::size_t>(
        info_.kind == kernels::sample_kind::image ? info_.C * info_.H * info_.W : info_.T);
  }
  [[nodiscard]] std::size_t target_count() const noexcept {
    return static_cast<std::size_t>(info_.kind == kernels::sample_kind::image ? 1 : info_.T);
  }
  void finish() {
    info_.training_count = targets_.size() / target_count();
    info_.validation_count = info_.training_count;
  }

  kernels::dataset_info info_;
  std::vector<float> images_;
  std::vector<std::int32_t> tokens_;
  std::vector<std::int32_t> targets_;
};

}  // namespace perigee::test
