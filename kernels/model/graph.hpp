// A model as a chain of layers, each a short list of operators over values with fixed shapes.
//
// Guarantees  pure data: two equal graphs build the same kernels. One buffer crosses from a layer
//             to the next, of one tensor or of several; no layer reads another one's values.
// Threads     none is shared; graphs are values.
#pragma once

#include "kernels/ops/ops.hpp"
#include "proto/base/result.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

namespace perigee::kernels {

enum class element : std::uint8_t { f32, i32 };

struct value {
  std::int64_t count = 0;  // elements of one micro-batch
  element type = element::f32;
};

/// How a parameter begins: `uniform` draws from [-scale, scale), `normal` has deviation `scale`.
enum class initial_kind : std::uint8_t { zero, one, uniform, normal };
struct initial {
  initial_kind kind = initial_kind::zero;
  double scale = 0;
};

struct parameter {
  std::string name;  // PyTorch's, e.g. `fc1.weight`
  std::vector<std::int64_t> shape;
  initial begins{};
  bool transposed = false;  // a matrix that files hold the other way round, as [shape[1], shape[0]]
};

using op_shape =
    std::variant<conv2d_shape, batch_norm_shape, pool_shape, linear_shape, attention_shape,
                 layer_norm_shape, activation_shape, embedding_shape, residual_shape,
                 transpose_shape, dropout_shape, cross_entropy_shape, matmul_shape, softmax_shape,
                 broadcast_shape, concat_shape, slice_shape, source_shape, affine_shape>;

result<op_ptr> make_op(const op_shape& shape);

inline constexpr std::uint32_t no_value = std::numeric_limits<std::uint32_t>::max();

struct node {
  op_shape shape;
  std::vector<std::uint32_t> in;  // indices of the layer's values
  std::uint32_t out = no_value;   // a loss has none
  std::vector<parameter> parameters;
  std::string running;    // batch norm: prefix of `.running_mean` and `.running_var`; else empty
  double momentum = 0.1;  // batch norm, as PyTorch's: the newest batch's share of these
};

/// One of several tensors of a boundary, which lie one behind the other.
struct boundary_part {
  std::uint32_t value = 0;
  std::size_t offset = 0;  // bytes, a multiple of 64
};

struct layer_graph {
  std::string name;                 // as in the parameter names, e.g. `layers.0`
  std::vector<value> values;        // 0 is the input; of the model's last layer, 1 is the targets
  std::vector<node> nodes;          // each reads what stands before it
  std::uint32_t output = no_value;  // what crosses to the next layer; none of the last layer
  std::uint32_t logits = no_value;  // last layer only
  // Where several tensors cross, values 0 and `output` are the boundaries as a whole, which no
  // operator touches, and these are what they are made of. No value is in both.
  std::vector<boundary_part> inputs{};
  std::vector<boundary_part> outputs{};
};

inline constexpr std::uint32_t input_value = 0;
inline constexpr std::uint32_t target_value = 1;

struct model_graph {
  std::vector<layer_graph> layers;
  std::int64_t samples = 0;       // of a micro-batch
  std::int64_t sample_count = 0;  // elements of one sample's input
  std::int64_t target_count = 0;  // targets of one sample
};

/// Returns the elements of a shape.
[[nodiscard]] std::int64_t count_of(const std::vector<std::int64_t>& shape) noexcept;

}  // namespace perigee::kernels
