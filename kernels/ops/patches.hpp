// Patches: the windows of an image as the rows of a matrix, so that a convolution is a product.
//
// Row r = (b, oh, ow) holds the C values of each of the KH·KW pixels under the window, row by row;
// pixels outside the image are zeros.
#pragma once

#include <cstdint>

namespace perigee::kernels {

/// Windows over images [B, H, W, pixel], of which C channels are taken.
struct patches {
  std::int64_t B = 0, H = 0, W = 0, C = 0;
  std::int64_t pixel = 0;       // values from one pixel to the next
  std::int64_t OH = 0, OW = 0;  // windows down and across
  std::int64_t KH = 1, KW = 1;
  std::int64_t stride = 1, dilation = 1;
  std::int64_t top = 0, left = 0;  // where window (0, 0) starts: that many pixels before the image

  [[nodiscard]] std::int64_t rows() const noexcept { return B * OH * OW; }
  [[nodiscard]] std::int64_t columns() const noexcept { return KH * KW * C; }
};

/// matrix[count, columns] = rows [first, first + count) of the patches of `image`.
void gather(const patches& p, const float* image, std::int64_t first, std::int64_t count,
            float* matrix);

/// The transpose of `gather`: adds each value to the pixel it came from, in row order.
void scatter(const patches& p, const float* matrix, std::int64_t first, std::int64_t count,
             float* image);

}  // namespace perigee::kernels
