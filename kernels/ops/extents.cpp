#include "kernels/ops/extents.hpp"

namespace perigee::kernels {

result<void> checked_extents(std::string_view op, std::initializer_list<named_extent> extents) {
  for (const named_extent& e : extents)
    if (e.value < 1)
      return error{errc::malformed, std::string(op) + ": " + std::string(e.name) + " is " +
                                        std::to_string(e.value) + ", must be at least 1"};
  return {};
}

result<void> checked_count(std::string_view op, std::initializer_list<named_extent> extents) {
  std::int64_t count = 1;
  std::string text;
  for (const named_extent& e : extents) {
    text += (text.empty() ? "" : " x ") + std::string(e.name) + " " + std::to_string(e.value);
    if (count > tensor_count_max / e.value)
      return error{errc::unsupported, std::string(op) + ": " + text + " is too large"};
    count *= e.value;
  }
  return {};
}

}  // namespace perigee::kernels
