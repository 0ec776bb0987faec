#include "kernels/reference/parts.hpp"

namespace perigee::kernels::reference {
namespace {

const float* floats(const op_call& c) { return static_cast<const float*>(c.in[0]); }

/// Calls use(place in the whole, place in the part, or -1 where the part is not) everywhere.
template <class Use>
void for_each_value(const slice_shape& s, const Use& use) {
  for (std::int64_t o = 0; o < s.outer; ++o)
    for (std::int64_t d = 0; d < s.size; ++d)
      for (std::int64_t i = 0; i < s.inner; ++i) {
        const bool inside = d >= s.begin && d < s.begin + s.count;
        use((o * s.size + d) * s.inner + i,
            inside ? (o * s.count + d - s.begin) * s.inner + i : -1);
      }
}

}  // namespace

void slice_forward(const slice_shape& s, const op_call& c) {
  for_each_value(s, [&](std::int64_t whole, std::int64_t part) {
    if (part >= 0) c.out[0][part] = floats(c)[whole];
  });
}

void slice_backward(const slice_shape& s, const op_call& c) {
  for_each_value(s, [&](std::int64_t whole, std::int64_t part) {
    c.din[0][whole] = part >= 0 ? c.dout[0][part] : 0;
  });
}

void source_forward(const source_shape& s, const op_call& c) {
  for (std::int64_t i = 0; i < s.count * s.repeat; ++i) c.out[0][i] = c.param[0][i % s.count];
}

void source_backward(const source_shape& s, const op_call& c) {
  for (std::int64_t i = 0; i < s.count * s.repeat; ++i) c.dparam[0][i % s.count] += c.dout[0][i];
}

void affine_forward(const affine_shape& s, const op_call& c) {
  for (std::int64_t i = 0; i < s.count; ++i) c.out[0][i] = floats(c)[i] * s.scale + s.shift;
}

void affine_backward(const affine_shape& s, const op_call& c) {
  for (std::int64_t i = 0; i < s.count; ++i) c.din[0][i] = c.dout[0][i] * s.scale;
}

}  // namespace perigee::kernels::reference
