#include "kernels/model/onnx/placement.hpp"

#include <algorithm>
#include <numeric>

namespace perigee::kernels {

namespace {

/// Dimensions [old_begin, old_end) of one shape that hold the same values as [new_begin, new_end)
/// of another.
struct shared_run {
  std::size_t old_begin, old_end, new_begin, new_end;
};

/// Returns the shortest runs in which two shapes of one count agree. Dimensions of 1 at the end
/// belong to the last run.
std::vector<shared_run> shared_runs(const extents& from, const extents& to) {
  std::vector<shared_run> runs;
  std::size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    shared_run run{i, i, j, j};
    std::int64_t a = 1, b = 1;
    do {
      if (a <= b && i < from.size())
        a *= from[i++];
      else if (j < to.size())
        b *= to[j++];
      else
        a *= from[i++];
    } while (a != b && (i < from.size() || j < to.size()));
    run.old_end = i, run.new_end = j;
    runs.push_back(run);
  }
  return runs;
}

/// Returns the dimensions of an order that are not 1.
std::vector<std::size_t> counting(const extents& shape, const std::vector<std::size_t>& order) {
  std::vector<std::size_t> out;
  for (const std::size_t d : order)
    if (shape[d] != 1) out.push_back(d);
  return out;
}

}  // namespace

extents placement::in_memory() const {
  extents out;
  for (const std::size_t d : order) out.push_back(shape[d]);
  return out;
}

std::vector<std::size_t> plain_order(std::size_t rank) {
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

bool same_order(const extents& shape, const std::vector<std::size_t>& a,
                const std::vector<std::size_t>& b) {
  return counting(shape, a) == counting(shape, b);
}

placement transposed(const placement& p, const extents& order) {
  placement out{p.value, {}, std::vector<std::size_t>(p.order.size())};
  std::vector<std::size_t> now(order.size());  // where each old dimension is
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto old = static_cast<std::size_t>(order[i]);
    out.shape.push_back(p.shape[old]);
    now[old] = i;
  }
  for (std::size_t i = 0; i < p.order.size(); ++i) out.order[i] = now[p.order[i]];
  return out;
}

std::optional<placement> reshaped(const placement& p, const extents& shape) {
  placement out{p.value, shape, {}};
  if (same_order(p.shape, p.order, plain_order(p.shape.size()))) {
    out.order = plain_order(shape.size());
    return out;
  }
  const auto runs = shared_runs(p.shape, shape);
  const auto memory = counting(p.shape, p.order);
  std::vector<bool> placed(shape.size(), false);
  std::size_t at = 0;
  while (at < memory.size()) {
    const auto run = std::find_if(runs.begin(), runs.end(), [&](const shared_run& r) {
      return memory[at] >= r.old_begin && memory[at] < r.old_end;
    });
    for (std::size_t d = run->old_begin; d < run->old_end; ++d) {
      if (p.shape[d] == 1) continue;
      if (at == memory.size() || memory[at] != d) return {};
      ++at;
    }
    for (std::size_t d = run->new_begin; d < run->new_end; ++d) {
      out.order.push_back(d);
      placed[d] = true;
    }
  }
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (!placed[d]) out.order.push_back(d);
  return out;
}

}  // namespace perigee::kernels
