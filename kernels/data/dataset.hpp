// A data set: numbered samples with their targets, split into training and validation.
//
// Samples are made from the file's own bytes when they are asked for, so that an open data set
// costs little more memory than its unzipped file.
//
// Guarantees  the same bytes and the same `data_spec` give the same samples, bit for bit, on every
//             peer; no sample depends on which others were read before.
// Threads     every const call may come from any thread.
#pragma once

#include "proto/base/id.hpp"
#include "proto/base/result.hpp"
#include "proto/job.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace perigee::kernels {

enum class sample_kind : std::uint8_t { image, tokens };

enum class split : std::uint8_t { training, validation };

/// The target of a position that the loss does not count.
inline constexpr std::int32_t not_counted = -100;

struct dataset_info {
  sample_kind kind{};
  std::int64_t C = 0;  // image: channels, height and width; in memory [H,W,C]
  std::int64_t H = 0;
  std::int64_t W = 0;
  std::int64_t T = 0;        // tokens a sample; 0 for images
  std::int64_t classes = 0;  // image: labels are [0, classes); tokens: the vocabulary
  std::uint64_t training_count = 0;
  std::uint64_t validation_count = 0;
  digest128 content;  // of the unzipped bytes: images then labels
  friend bool operator==(const dataset_info&, const dataset_info&) = default;
};

class dataset {
public:
  virtual ~dataset() = default;

  [[nodiscard]] virtual const dataset_info& info() const noexcept = 0;

  /// Writes sample `index` of a split: f32 [H,W,C] or i32 [T]; index < the split's count.
  virtual void input(split part, std::uint64_t index, void* out) const = 0;

  /// Writes its targets: 1 i32 value for an image, T for tokens; -100 = not counted.
  virtual void target(split part, std::uint64_t index, std::int32_t* out) const = 0;

  /// Returns which training sample stands at `position` of the endless sequence of passes; here the
  /// keyed permutation of sampler.hpp.
  [[nodiscard]] virtual std::uint64_t sample_at(std::uint64_t seed, std::uint64_t position) const;

  /// Returns what a token stands for, as UTF-8, to print generated text; empty for images and for
  /// ids outside the vocabulary.
  [[nodiscard]] virtual std::string symbol(std::int32_t id) const;
};

/// Reads the files of `spec`, plain or .gz. `context` is the tokens a sample; images ignore it.
///
/// text  training sample i is tokens [i, i+T), its targets [i+1, i+T+1). Validation is the tail of
///       the characters, in windows one after the other; the last one is moved back to end with
///       the text and counts only what no window before it counted: each position counts once.
/// idx   images u8 [N,H,W] or [N,H,W,C] and labels u8 [N]; the last `validation_count` validate.
/// csv   the last column is the label; a square number of features n is an image [1,√n,√n], else
///       [1,1,n]; the last `validation_count` rows validate.
/// npy   samples [N,F] (as csv's features), [N,H,W] or [N,H,W,C] and labels [N]; the last
///       `validation_count` validate.
/// cifar10, cifar100  the binary version's records; the last `validation_count` validate.
///
/// Fails with `io` (cannot be read), `malformed` (breaks its format, naming file and place; or the
/// content is not what `spec.content` says) or `infeasible` (too small for what was asked, with
/// both numbers).
result<std::shared_ptr<const dataset>> open_dataset(const data_spec& spec, std::int64_t context);

}  // namespace perigee::kernels
