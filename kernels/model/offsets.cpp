#include "kernels/model/offsets.hpp"

#include <algorithm>
#include <numeric>

namespace perigee::kernels {

namespace {

constexpr std::size_t rounded(std::size_t bytes) noexcept { return (bytes + 63) / 64 * 64; }

bool meet(const lifetime& a, const lifetime& b) noexcept {
  return a.begin <= b.end && b.begin <= a.end;
}

/// Returns the lowest gap of `bytes` between the `taken` intervals, which are sorted here.
std::size_t first_gap(std::vector<std::pair<std::size_t, std::size_t>>& taken, std::size_t bytes) {
  std::sort(taken.begin(), taken.end());
  std::size_t at = 0;
  for (const auto& [begin, end] : taken) {
    if (at + bytes <= begin) break;
    at = std::max(at, end);
  }
  return at;
}

}  // namespace

offset_plan plan_offsets(const std::vector<lifetime>& buffers) {
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return buffers[a].bytes > buffers[b].bytes;
  });

  offset_plan plan{std::vector<std::size_t>(buffers.size()), 0};
  std::vector<std::pair<std::size_t, std::size_t>> taken;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const lifetime& self = buffers[order[i]];
    taken.clear();
    for (std::size_t j = 0; j < i; ++j) {
      const std::size_t other = order[j];
      if (meet(self, buffers[other]))
        taken.emplace_back(plan.offsets[other],
                           plan.offsets[other] + rounded(buffers[other].bytes));
    }
    plan.offsets[order[i]] = first_gap(taken, rounded(self.bytes));
    plan.bytes = std::max(plan.bytes, plan.offsets[order[i]] + rounded(self.bytes));
  }
  return plan;
}

}  // namespace perigee::kernels
