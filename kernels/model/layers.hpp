// A layer under construction: adds operators in order and keeps track of what they make.
//
// Threads  none is shared.
#pragma once

#include "kernels/model/graph.hpp"

#include <string>

namespace perigee::kernels {

class layer_builder {
public:
  layer_builder(std::string name, value input);

  /// Adds the targets; before any operator.
  void add_targets(std::int64_t count);

  /// Each returns the value that the operator makes, of `count` elements.
  std::uint32_t add(op_shape shape, std::vector<std::uint32_t> in, std::int64_t count,
                    std::vector<parameter> parameters = {});
  std::uint32_t add_batch_norm(const batch_norm_shape& shape, std::uint32_t in,
                               const std::string& prefix);
  /// `begins` is how the weight begins; a bias begins likewise if it is uniform, else at zero.
  std::uint32_t add_linear(const linear_shape& shape, std::uint32_t in, const std::string& prefix,
                           initial begins);
  std::uint32_t add_convolution(const conv2d_shape& shape, std::uint32_t in,
                                const std::string& prefix);
  std::uint32_t add_layer_norm(const layer_norm_shape& shape, std::uint32_t in,
                               const std::string& prefix);
  /// Adds the loss over `logits`, whose rows the targets name.
  void add_loss(const cross_entropy_shape& shape, std::uint32_t logits);

  [[nodiscard]] layer_graph finished(std::uint32_t output);

private:
  std::uint32_t add_value(value what);
  layer_graph layer_;
};

/// Returns PyTorch's default for linear and convolution: uniform within 1 / sqrt(fan in).
[[nodiscard]] initial fan_in_uniform(std::int64_t fan_in);

/// Returns output height or width of a convolution without dilation.
[[nodiscard]] std::int64_t convolved(std::int64_t extent, std::int64_t kernel, std::int64_t stride,
                                     std::int64_t padding);

}  // namespace perigee::kernels
