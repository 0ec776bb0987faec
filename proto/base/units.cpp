#include "proto/base/units.hpp"

#include <array>
#include <string_view>

namespace perigee {

namespace {

/// Returns count / unit with one decimal, rounded half up, e.g. `1.5`. Requires 10.5 * unit to fit.
std::string one_decimal(std::uint64_t count, std::uint64_t unit) {
  const std::uint64_t tenths = ((count % unit) * 10 + unit / 2) / unit;
  return std::to_string(count / unit + tenths / 10) + '.' + std::to_string(tenths % 10);
}

/// Returns whether `count` shown in `unit` would round up to `next` of them or more.
bool rounds_to(std::uint64_t count, std::uint64_t unit, std::uint64_t next) {
  return count >= unit * next - unit / 20;
}

}  // namespace

std::string text(bytes size) {
  constexpr std::array<std::string_view, 6> names = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (size.count < 1024) return std::to_string(size.count) + " B";
  std::size_t name = 0;
  std::uint64_t unit = 1024;
  while (name + 1 < names.size() && rounds_to(size.count, unit, 1024)) {
    unit *= 1024;
    ++name;
  }
  return one_decimal(size.count, unit) + ' ' + std::string(names[name]);
}

std::string text(duration time) {
  constexpr std::array<std::string_view, 3> names = {" us", " ms", " s"};
  const std::string sign = time < duration::zero() ? "-" : "";
  const auto whole = static_cast<std::uint64_t>(time.count());
  const std::uint64_t count = sign.empty() ? whole : 0 - whole;
  if (count < 1000) return sign + std::to_string(count) + " ns";
  std::size_t name = 0;
  std::uint64_t unit = 1000;
  while (name + 1 < names.size() && rounds_to(count, unit, 1000)) {
    unit *= 1000;
    ++name;
  }
  return sign + one_decimal(count, unit) + std::string(names[name]);
}

}  // namespace perigee
