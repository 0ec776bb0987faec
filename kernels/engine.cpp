#include "kernels/engine.hpp"

#include "proto/base/check.hpp"

#include <oneapi/dnnl/dnnl.h>

#include <omp.h>
#include <xmmintrin.h>

namespace perigee::kernels {

void enter_lane() noexcept {
  constexpr unsigned masked = 0x1F80;  // all exceptions masked, round to nearest
  constexpr unsigned flush_to_zero = 0x8000;
  constexpr unsigned denormals_are_zero = 0x0040;
  omp_set_dynamic(0);
  omp_set_num_threads(1);
  _mm_setcsr(masked | flush_to_zero | denormals_are_zero);
}

void multiply(const product& p) noexcept {
  omp_set_num_threads(1);  // of this thread only; costs a store
  const auto letter = [](order o) { return o == order::plain ? 'N' : 'T'; };
  const float beta = p.how == into::overwrite ? 0.0F : 1.0F;
  const dnnl_status_t status =
      dnnl_sgemm(letter(p.a.as), letter(p.b.as), p.M, p.N, p.K, 1.0F, p.a.data, p.a.stride,
                 p.b.data, p.b.stride, beta, p.out, p.out_stride);
  CHECK(status == dnnl_success);
}

}  // namespace perigee::kernels
