// A golden file: what another framework computed, and a judge's notes on how near we come.
//
// Whoever cannot judge a file throws: a test that meets one fails with the file's name.
#pragma once

#include "kernels/format/safetensors.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace perigee::kernels::testing {

/// Returns the safetensors files in `folder` of the goldens, sorted. The goldens are where
/// PERIGEE_GOLDENS says, else in ../shared/goldens. Throws if there are none.
std::vector<std::string> golden_files(const std::string& folder);

class golden {
public:
  /// Reads the file; throws what is wrong with it.
  explicit golden(const std::string& path);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string name() const;
  [[nodiscard]] bool has(const std::string& tensor) const;
  [[nodiscard]] std::string metadata(const std::string& key) const;
  /// Returns names of tensors that start so, sorted.
  [[nodiscard]] std::vector<std::string> names(const std::string& start) const;
  [[nodiscard]] std::vector<std::int64_t> shape(const std::string& tensor) const;
  [[nodiscard]] std::vector<float> floats(const std::string& tensor) const;
  /// I64, each in the range of an i32.
  [[nodiscard]] std::vector<std::int32_t> numbers(const std::string& tensor) const;
  /// [B,C,H,W] in memory to [B,H,W,C]; other ranks as they are.
  [[nodiscard]] std::vector<float> image(const std::string& tensor) const;

  /// Notes how far `got` is from a tensor, as a share of its largest value.
  void judge(const std::string& tensor, const std::vector<float>& got);
  void judge_image(const std::string& tensor, const std::vector<float>& got);

  /// Returns e.g. `out.0 1.2e-07, grad.x 3.0e-07` and the worst error; throws if an `out.`,
  /// `grad.` or `running_` tensor was not judged.
  [[nodiscard]] std::string verdict() const;
  [[nodiscard]] double worst() const noexcept { return worst_; }

private:
  [[nodiscard]] const named_tensor& tensor(const std::string& name) const;
  void note(const std::string& tensor, double error);

  std::string path_, notes_;
  tensor_file file_;
  std::set<std::string> judged_;
  double worst_ = 0;
};

/// The attributes of a file: each must be asked for, else `all_used` throws.
class golden_attributes {
public:
  explicit golden_attributes(const std::string& json);
  template <class T>
  [[nodiscard]] T get(const std::string& key, const T& otherwise) {
    asked_.insert(key);
    return all_.value(key, otherwise);
  }
  void all_used() const;

private:
  nlohmann::json all_;
  std::set<std::string> asked_;
};

}  // namespace perigee::kernels::testing
