#include "planner/plan/shape.hpp"

#include <algorithm>
#include <numeric>
#include <span>

namespace perigee::planner {

namespace {

error infeasible(std::string what) { return {errc::infeasible, std::move(what)}; }

std::string counted(std::uint64_t count, const char* what) {
  return std::to_string(count) + ' ' + what + (count == 1 ? "" : "s");
}

/// Returns e.g. `2, 1 and 2`.
std::string listed(std::span<const std::uint32_t> numbers) {
  std::string line;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) line += i + 1 == numbers.size() ? " and " : ", ";
    line += std::to_string(numbers[i]);
  }
  return line;
}

/// Cuts the flat list of shares where each stage's slices are complete.
result<std::vector<std::vector<std::uint32_t>>> stage_shares(const wishes& wanted,
                                                             std::uint32_t slices) {
  std::vector<std::vector<std::uint32_t>> stages;
  std::vector<std::uint32_t> open;
  std::uint64_t sum = 0;
  for (const std::uint32_t share : wanted.shares) {
    if (share == 0) return infeasible("a share of 0 slices asked");
    open.push_back(share);
    sum += share;
    if (sum < slices) continue;
    if (sum > slices) break;
    stages.push_back(std::exchange(open, {}));
    sum = 0;
  }
  if (open.empty()) return stages;
  return infeasible((open.size() == 1 ? "share " : "shares ") + listed(open) + " of stage " +
                    std::to_string(stages.size()) + (open.size() == 1 ? " is " : " add up to ") +
                    std::to_string(sum) + ", a mini-batch has " + counted(slices, "slice"));
}

result<void> take_shares(const wishes& wanted, std::uint32_t slices, plan_shape& shape) {
  if (wanted.shares.empty()) return {};
  auto stages = stage_shares(wanted, slices);
  if (!stages) return stages.why();
  shape.shares = std::move(*stages);
  if (shape.stages == 0) shape.stages = static_cast<std::uint32_t>(shape.shares.size());
  // One stage's shares are those of every stage, as one replica count is.
  if (shape.shares.size() == 1) shape.shares.resize(shape.stages, shape.shares[0]);
  if (shape.shares.size() != shape.stages) {
    return infeasible("shares for " + counted(shape.shares.size(), "stage") + " and " +
                      counted(shape.stages, "stage") + " asked");
  }
  std::vector<std::uint32_t> sizes;
  for (const auto& group : shape.shares) sizes.push_back(static_cast<std::uint32_t>(group.size()));
  for (std::size_t s = 0; s < sizes.size() && !shape.sizes.empty(); ++s) {
    const std::uint32_t asked = shape.sizes[shape.sizes.size() == 1 ? 0 : s];
    if (asked == sizes[s]) continue;
    return infeasible(counted(sizes[s], "share") + " for stage " + std::to_string(s) + " and " +
                      counted(asked, "replica") + " asked");
  }
  shape.sizes = std::move(sizes);
  return {};
}

}  // namespace

result<plan_shape> shape_of(const wishes& wanted, const model_profile& model) {
  plan_shape shape{.stages = wanted.stages, .sizes = wanted.replicas, .shares = {}};
  for (const std::uint32_t size : shape.sizes) {
    if (size == 0) return infeasible("0 replicas asked");
    if (size > model.slice_count) {
      return infeasible(counted(size, "replica") + " asked but a mini-batch has " +
                        counted(model.slice_count, "slice"));
    }
  }
  if (shape.sizes.size() > 1) {
    if (shape.stages == 0) shape.stages = static_cast<std::uint32_t>(shape.sizes.size());
    if (shape.sizes.size() != shape.stages) {
      return infeasible(counted(shape.sizes.size(), "replica count") + " and " +
                        counted(shape.stages, "stage") + " asked");
    }
  }
  const auto too_many = [&] { return shape.stages > model.layers.size(); };
  if (!too_many()) {
    if (auto taken = take_shares(wanted, model.slice_count, shape); !taken) return taken.why();
  }
  if (too_many()) {
    return infeasible(counted(shape.stages, "stage") + " asked, the model has " +
                      counted(model.layers.size(), "layer"));
  }
  return shape;
}

std::size_t peers_needed(const plan_shape& shape) noexcept {
  const std::size_t stages = std::max(shape.stages, 1U);
  if (shape.sizes.empty()) return stages;
  if (shape.sizes.size() == 1) return stages * shape.sizes[0];
  return std::accumulate(shape.sizes.begin(), shape.sizes.end(), std::size_t{0});
}

std::string need_text(const plan_shape& shape) {
  const std::size_t peers = peers_needed(shape);
  std::string line;
  if (shape.stages > 0) line = counted(shape.stages, "stage");
  if (!shape.sizes.empty()) {
    const auto first = shape.sizes[0];
    const bool same = std::all_of(shape.sizes.begin(), shape.sizes.end(),
                                  [first](std::uint32_t size) { return size == first; });
    if (!line.empty()) line += " of ";
    line += same ? counted(first, "replica") : listed(shape.sizes) + " replicas";
  }
  const bool single = shape.stages <= 1 && (shape.stages == 1 || peers == 1);
  return line + (single ? " needs " : " need ") + counted(peers, "peer");
}

}  // namespace perigee::planner
