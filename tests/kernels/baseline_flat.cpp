// See baseline_ops.hpp. The sources are included under other names.
#define PERIGEE_CLONES
#include "tests/kernels/baseline_ops.hpp"
#define make_residual baseline_make_residual
#define make_broadcast baseline_make_broadcast
#define make_squared_error baseline_make_squared_error
#define make_activation baseline_make_activation
#define make_dropout baseline_make_dropout
#define make_source baseline_make_source
#define make_affine baseline_make_affine
// clang-format off
#include "kernels/ops/residual.cpp"
#include "kernels/ops/broadcast.cpp"
#include "kernels/ops/squared_error.cpp"
#include "kernels/ops/activation.cpp"
#include "kernels/ops/dropout.cpp"
#include "kernels/ops/source.cpp"
#include "kernels/ops/affine.cpp"
