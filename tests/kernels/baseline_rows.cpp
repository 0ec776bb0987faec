// See baseline_ops.hpp. The sources are included under other names.
#define PERIGEE_CLONES
#include "tests/kernels/baseline_ops.hpp"
#define make_layer_norm baseline_make_layer_norm
#define make_embedding baseline_make_embedding
#define make_softmax baseline_make_softmax
#define make_cross_entropy baseline_make_cross_entropy
#define make_attention baseline_make_attention
// clang-format off
#include "kernels/ops/cross_entropy.cpp"
#include "kernels/ops/layer_norm.cpp"
#include "kernels/ops/embedding.cpp"
#include "kernels/ops/softmax.cpp"
#include "kernels/ops/attention.cpp"
