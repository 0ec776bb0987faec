// Vectors for the loops of our own: eight f32 side by side, compiled for three instruction sets.
//
// Guarantees  each value goes through the same operations in the same order whatever the width of
//             the machine's registers: no contraction to FMA (the build forbids it) and no sum
//             across a vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

// Picked once when the program starts.
#define PERIGEE_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#define PERIGEE_INLINE __attribute__((always_inline)) inline

namespace perigee::kernels {

using v8 = float __attribute__((vector_size(32)));
using v8d = double __attribute__((vector_size(64)));

PERIGEE_INLINE void load(v8& to, const float* from) { std::memcpy(&to, from, sizeof to); }
PERIGEE_INLINE void store(float* to, const v8& from) { std::memcpy(to, &from, sizeof from); }

/// Sums of columns: total[C] <- total[C] + the column sums of rows[R, C]. Runs of 64 rows are
/// added in f32, the runs in f64, then once to `total`: the error does not grow with R.
void add_column_sums(const float* rows, std::int64_t R, std::int64_t C, float* total);

/// rows[R, C] <- rows + value[C]
void add_to_rows(float* rows, std::int64_t R, std::int64_t C, const float* value);

}  // namespace perigee::kernels
