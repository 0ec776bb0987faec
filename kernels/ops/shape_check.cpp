#include "kernels/ops/shape_check.hpp"

namespace perigee::kernels {
namespace {

error out_of_range(std::string_view what, const std::string& which, std::int64_t value) {
  return {errc::malformed, std::string(what) + ": " + which + " is " + std::to_string(value) +
                               ", not in [1, " + std::to_string(dimension_max) + "]"};
}

error too_large(std::string_view what, const std::string& which) {
  return {errc::malformed, std::string(what) + ": " + which + " has more than " +
                               std::to_string(count_max) + " values"};
}

}  // namespace

std::optional<error> wrong_dimension(std::string_view what, std::initializer_list<dimension> all) {
  std::int64_t product = 1;
  for (const dimension& d : all) {
    if (d.value < 1 || d.value > dimension_max)
      return out_of_range(what, std::string(d.name), d.value);
    if (product > count_max / d.value) return too_large(what, "a tensor");
    product *= d.value;
  }
  return std::nullopt;
}

std::optional<error> wrong_count(std::string_view what, std::int64_t count) {
  if (count >= 1 && count <= count_max) return std::nullopt;
  return error{errc::malformed, std::string(what) + ": count is " + std::to_string(count) +
                                    ", not in [1, " + std::to_string(count_max) + "]"};
}

std::optional<error> wrong_tensor(std::string_view what, std::string_view which,
                                  std::span<const std::int64_t> shape) {
  constexpr std::size_t rank_max = 6;
  if (shape.size() > rank_max)
    return error{errc::unsupported, std::string(what) + ": " + std::string(which) + " has " +
                                        std::to_string(shape.size()) +
                                        " dimensions, at most 6 are supported"};
  std::int64_t product = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 1 || shape[i] > dimension_max)
      return out_of_range(what, "dimension " + std::to_string(i) + " of " + std::string(which),
                          shape[i]);
    if (product > count_max / shape[i]) return too_large(what, std::string(which));
    product *= shape[i];
  }
  return std::nullopt;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string all = "[";
  for (const std::int64_t d : shape) {
    if (all.size() > 1) all += ", ";
    all += std::to_string(d);
  }
  return all + "]";
}

std::size_t count_of(std::span<const std::int64_t> shape) noexcept {
  std::int64_t product = 1;
  for (const std::int64_t d : shape) product *= d;
  return static_cast<std::size_t>(product);
}

}  // namespace perigee::kernels
