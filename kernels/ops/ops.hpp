// The operators that can be built: one shape struct and one maker each. A maker fails with
// `unsupported` or `malformed` and says which dimension is wrong.
#pragma once

#include "kernels/ops/op.hpp"

#include <array>

namespace perigee::kernels {

/// out[B,N,H',W'] = sum over (C/groups, KH, KW) of in · weight (+ bias[N]);  param:
/// weight[N,C/groups,KH,KW], bias[N]
struct conv2d_shape {
  std::int64_t B = 0, C = 0, H = 0, W = 0, N = 0, KH = 1, KW = 1;
  std::int64_t stride = 1, padding = 0, dilation = 1, groups = 1;
  bool bias = false;
  std::string isa;  // cap
};
result<op_ptr> make_conv2d(const conv2d_shape& s);

/// out = (in - mean) / sqrt(variance + epsilon) * weight + bias over B·H·W of each channel, then
/// ReLU if asked. param: weight[C], bias[C]. Training: statistics are the batch's. Evaluation:
/// `running` is read, backward is not built.
enum class pass_kind : std::uint8_t { training, evaluation };
struct batch_norm_shape {
  std::int64_t B = 0, C = 0, H = 1, W = 1;
  float epsilon = 1e-5F;
  bool relu = false;
  pass_kind pass = pass_kind::training;
};
result<op_ptr> make_batch_norm(const batch_norm_shape& s);

enum class pool_kind : std::uint8_t { max, average, global_average };
/// in[B,C,H,W]; global_average: out[B,C] (kernel, stride and padding are ignored)
struct pool_shape {
  pool_kind kind = pool_kind::max;
  std::int64_t B = 0, C = 0, H = 0, W = 0, kernel = 2, stride = 2, padding = 0;
};
result<op_ptr> make_pool(const pool_shape& s);

/// out[R,N] = in[R,C] · weight[N,C]ᵀ (+ bias[N]);  param: weight, bias
struct linear_shape {
  std::int64_t R = 0, C = 0, N = 0;
  bool bias = true;
};
result<op_ptr> make_linear(const linear_shape& s);

/// out[G,R,N] = a[G,R,C] · b[G,C,N]
struct matmul_shape {
  std::int64_t G = 1, R = 0, C = 0, N = 0;
};
result<op_ptr> make_matmul(const matmul_shape& s);

/// Multi-head scaled dot-product attention. packed: in = {qkv[B,T,3·heads·D]}, out[B,T,heads·D].
/// Otherwise in = {q, k, v}, each [B,heads,T,D], out[B,heads,T,D].
struct attention_shape {
  std::int64_t B = 0, T = 0, heads = 1, D = 0;
  bool causal = true;
  bool packed = true;
  float scale = 0;  // 0 = 1/sqrt(D)
};
result<op_ptr> make_attention(const attention_shape& s);

/// out[R,C]: each row normalised, then * weight[C] + bias[C]
struct layer_norm_shape {
  std::int64_t R = 0, C = 0;
  float epsilon = 1e-5F;
};
result<op_ptr> make_layer_norm(const layer_norm_shape& s);

enum class activation_kind : std::uint8_t {
  relu,
  relu6,
  gelu_erf,
  gelu_tanh,
  sigmoid,
  silu,
  tanh,
  hardswish
};
struct activation_shape {
  activation_kind kind = activation_kind::relu;
  std::int64_t count = 0;
};
result<op_ptr> make_activation(const activation_shape& s);

/// out[R,C] = weight[ids[R]] (+ position[r mod T]);  in: ids[R] i32;  param: weight[V,C], then
/// position[T,C] if T > 0
struct embedding_shape {
  std::int64_t R = 0, V = 0, C = 0, T = 0;
};
result<op_ptr> make_embedding(const embedding_shape& s);

/// Softmax over the middle of [outer, C, inner].
struct softmax_shape {
  std::int64_t outer = 1, C = 0, inner = 1;
};
result<op_ptr> make_softmax(const softmax_shape& s);

/// out = a + b of equal shapes, then ReLU if asked. in: a, b.
struct residual_shape {
  std::int64_t count = 0;
  bool relu = false;
};
result<op_ptr> make_residual(const residual_shape& s);

enum class broadcast_kind : std::uint8_t { add, multiply };
/// Element-wise with NumPy's broadcasting of two row-major tensors of at most 6 dimensions.
struct broadcast_shape {
  broadcast_kind kind = broadcast_kind::add;
  std::vector<std::int64_t> a, b;
};
result<op_ptr> make_broadcast(const broadcast_shape& s);

/// out = inputs joined along `axis`; row-major.
struct concat_shape {
  std::vector<std::vector<std::int64_t>> in;
  std::int64_t axis = 0;
};
result<op_ptr> make_concat(const concat_shape& s);

/// out[outer,count,inner] = in[outer,size,inner] from `begin` on along the middle dimension.
struct slice_shape {
  std::int64_t outer = 1, size = 0, inner = 1, begin = 0, count = 0;
};
result<op_ptr> make_slice(const slice_shape& s);

/// out[repeat,count] = the first `count` values of param, again and again. No inputs.
struct source_shape {
  std::int64_t count = 0, repeat = 1;
};
result<op_ptr> make_source(const source_shape& s);

/// out[count] = in * scale + shift
struct affine_shape {
  std::int64_t count = 0;
  float scale = 1, shift = 0;
};
result<op_ptr> make_affine(const affine_shape& s);

struct transpose_shape {
  std::vector<std::int64_t> in;
  std::vector<std::int64_t> order;  // out dimension i is in dimension order[i]
};
result<op_ptr> make_transpose(const transpose_shape& s);

/// Inverted dropout, keyed by (seed, step, micro-batch, stream): no state. Backward redraws the
/// mask.
struct dropout_shape {
  std::int64_t count = 0;
  double probability = 0;
  std::uint32_t stream = 0;  // the operator's number in the model
};
result<op_ptr> make_dropout(const dropout_shape& s);

/// in: logits[R,V], target[R] i32. No tensor output: `loss` is the sum of the counted rows' cross
/// entropies in f64 (left fold by row); backward_inputs gives (softmax - one-hot) * loss_scale, 0
/// for rows whose target is `ignore`.
struct cross_entropy_shape {
  std::int64_t R = 0, V = 0;
  std::int32_t ignore = -100;
};
result<op_ptr> make_cross_entropy(const cross_entropy_shape& s);

/// in: x[count], target[count] f32. loss = sum of squares; din: 2 (x - target) * loss_scale, and
/// its negative for target.
struct squared_error_shape {
  std::int64_t count = 0;
};
result<op_ptr> make_squared_error(const squared_error_shape& s);

}  // namespace perigee::kernels
