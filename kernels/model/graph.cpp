#include "kernels/model/graph.hpp"

namespace perigee::kernels {

namespace {

result<op_ptr> made(const conv2d_shape& s) { return make_conv2d(s); }
result<op_ptr> made(const batch_norm_shape& s) { return make_batch_norm(s); }
result<op_ptr> made(const pool_shape& s) { return make_pool(s); }
result<op_ptr> made(const linear_shape& s) { return make_linear(s); }
result<op_ptr> made(const attention_shape& s) { return make_attention(s); }
result<op_ptr> made(const layer_norm_shape& s) { return make_layer_norm(s); }
result<op_ptr> made(const activation_shape& s) { return make_activation(s); }
result<op_ptr> made(const embedding_shape& s) { return make_embedding(s); }
result<op_ptr> made(const residual_shape& s) { return make_residual(s); }
result<op_ptr> made(const transpose_shape& s) { return make_transpose(s); }
result<op_ptr> made(const dropout_shape& s) { return make_dropout(s); }
result<op_ptr> made(const cross_entropy_shape& s) { return make_cross_entropy(s); }
result<op_ptr> made(const matmul_shape& s) { return make_matmul(s); }
result<op_ptr> made(const softmax_shape& s) { return make_softmax(s); }
result<op_ptr> made(const broadcast_shape& s) { return make_broadcast(s); }
result<op_ptr> made(const concat_shape& s) { return make_concat(s); }
result<op_ptr> made(const slice_shape& s) { return make_slice(s); }
result<op_ptr> made(const source_shape& s) { return make_source(s); }
result<op_ptr> made(const affine_shape& s) { return make_affine(s); }

}  // namespace

result<op_ptr> make_op(const op_shape& shape) {
  return std::visit([](const auto& s) { return made(s); }, shape);
}

std::int64_t count_of(const std::vector<std::int64_t>& shape) noexcept {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

}  // namespace perigee::kernels
