// Offsets for buffers whose lifetimes are known: two that live at one time never overlap.
//
// Guarantees  a function of its arguments alone; every offset is a multiple of 64.
// Source      first fit by decreasing size, as in Pisarchyk and Lee, 2020 ("Efficient memory
//             management for deep neural net inference"), section 5.
#pragma once

#include <cstddef>
#include <vector>

namespace perigee::kernels {

/// A buffer that is there from time `begin` to time `end`, both included.
struct lifetime {
  std::size_t bytes = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct offset_plan {
  std::vector<std::size_t> offsets;  // one for each lifetime
  std::size_t bytes = 0;             // of the whole region
};

[[nodiscard]] offset_plan plan_offsets(const std::vector<lifetime>& buffers);

}  // namespace perigee::kernels
