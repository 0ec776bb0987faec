#include "actors/cli/nearest.hpp"

#include <algorithm>

namespace perigee::actors {

namespace {

/// Returns the edits between two words: letters put in, taken out, changed, or swapped with the
/// next one (optimal string alignment).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({changed, d[i - 1][j] + 1, d[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

std::string nearest(std::string_view wrong, const std::vector<std::string>& names) {
  if (wrong.size() > 64) return {};  // no slip, and the distance costs the product of both lengths
  std::string best;
  std::size_t least = std::max<std::size_t>(1, wrong.size() / 3) + 1;
  for (const auto& name : names)
    if (const auto d = distance(wrong, name); d < least) {
      least = d;
      best = name;
    }
  return best;
}

}  // namespace perigee::actors
