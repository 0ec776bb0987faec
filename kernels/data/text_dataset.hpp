// Text as windows of tokens, each with the tokens one place further on as its targets.
//
// Threads  every const call may come from any thread.
#pragma once

#include "kernels/data/dataset.hpp"
#include "kernels/format/text.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace perigee::kernels {

class text_dataset final : public dataset {
public:
  /// The first `training_size` tokens train; of both parts, one that has samples holds at least
  /// T + 1 tokens.
  text_dataset(const dataset_info& info, encoded_text text, std::uint64_t training_size);

  [[nodiscard]] const dataset_info& info() const noexcept override { return info_; }
  void input(split part, std::uint64_t index, void* out) const override;
  void target(split part, std::uint64_t index, std::int32_t* out) const override;
  [[nodiscard]] std::string symbol(std::int32_t id) const override;

private:
  /// Where a sample's tokens begin, and how many of its positions an earlier one has counted.
  struct window {
    std::uint64_t begin;
    std::uint64_t counted;
  };
  [[nodiscard]] window window_of(split part, std::uint64_t index) const;
  void copy(std::uint64_t begin, std::int32_t* out) const;

  dataset_info info_;
  encoded_text text_;
  std::uint64_t training_size_;
  std::uint64_t size_;
};

/// Takes the unzipped text; `spec.content` is its digest.
result<std::shared_ptr<const dataset>> text_dataset_of(const data_spec& spec, std::int64_t context,
                                                       std::span<const std::byte> content);

}  // namespace perigee::kernels
