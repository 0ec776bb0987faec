#include "planner/plan/label_search.hpp"

#include "proto/base/check.hpp"
#include "proto/stage_memory.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace perigee::planner {

namespace {

using rep = duration::rep;

std::vector<std::uint32_t> group_sizes(std::uint32_t most) {
  std::vector<std::uint32_t> sizes;
  for (std::uint32_t g = 1; g <= most; g += std::max(1U, g / 4)) sizes.push_back(g);
  return sizes;
}

}  // namespace

label_search::label_search(const estimator& with, std::vector<std::uint32_t> order,
                           const label_options& how)
    : with_(with), order_(std::move(order)), how_(how), layers_(with.sums->layers()) {
  CHECK(!order_.empty());
  const auto most = std::min<std::size_t>(with.space->model->slice_count, order_.size());
  sizes_ = group_sizes(static_cast<std::uint32_t>(most));
  if (how.members > 0) sizes_ = {how.members};
  std::uint32_t fastest = order_[0];
  for (const std::uint32_t p : order_)
    if (with.sums->pass(p, {0, layers_}) < with.sums->pass(fastest, {0, layers_})) fastest = p;
  for (std::uint32_t l = 0; l <= layers_; ++l) base_.push_back(with.sums->pass(fastest, {0, l}));
  roomy_ = enough_room();
  pour_groups();
}

bool label_search::enough_room() const {
  for (const std::uint32_t p : order_) {
    const bytes most = with_.sums->least_memory(
        {0, layers_}, {.slices = with_.space->model->slice_count, .index = 1, .size = 3});
    if (most > with_.space->swarm->peers()[p].memory_offer) return false;
  }
  return true;
}

void label_search::pour_groups() {
  groups_.resize(order_.size());
  for (std::size_t n = 0; n < order_.size(); ++n)
    for (const std::uint32_t g : sizes_) {
      if (n + g > order_.size()) break;
      const auto first = order_.begin() + static_cast<std::ptrdiff_t>(n);
      const std::vector<std::uint32_t> peers(first, first + g);
      auto shares = shares_of(with_, {0, layers_}, peers);
      if (how_.members > 0) shares.assign(g, with_.space->model->slice_count / g);
      std::vector<part> group;
      for (std::size_t m = 0; m < g; ++m) group.push_back({peers[m], shares[m]});
      groups_[n].push_back(std::move(group));
    }
}

std::vector<outline> label_search::sweep() {
  rep high = std::numeric_limits<rep>::max() / 4;
  if (!try_cap(high)) return {};
  high = found_.back().total;  // no stage of that plan is busy for longer
  rep low = 0;
  for (std::uint32_t i = 0; i < how_.probes && high - low > high / 256; ++i) {
    const rep middle = low + (high - low) / 2;
    (try_cap(middle) ? high : low) = middle;
  }
  constexpr rep percents[] = {102, 105, 110, 120, 140, 180, 260};
  for (const rep percent : percents)
    if (how_.wider_caps) static_cast<void>(try_cap(high / 100 * percent));
  std::sort(found_.begin(), found_.end(), [](const scored& a, const scored& b) {
    return std::tie(a.total, a.cut) < std::tie(b.total, b.cut);
  });
  std::vector<outline> cuts;
  for (scored& s : found_)
    if (cuts.empty() || cuts.back() != s.cut) cuts.push_back(std::move(s.cut));
  return cuts;
}

bool label_search::try_cap(rep cap) {
  all_.assign(1, label{});
  at_.assign(order_.size() + 1, {});
  at_[0].push_back(0);
  best_.reset();
  best_total_ = std::numeric_limits<rep>::max();
  for (std::uint32_t n = 0; n < order_.size(); ++n) {
    thin(n);
    for (const std::uint32_t from : at_[n]) {
      extend(from, n, cap);
      at_[n + 1].push_back(from);  // peer n idles
    }
  }
  if (best_) found_.push_back({best_total_, path_to(*best_)});
  return best_.has_value();
}

void label_search::extend(std::uint32_t from, std::uint32_t n, rep cap) {
  const label at = all_[from];
  outline_stage before;
  if (at.group_size > 0) before = stage_at(at);
  for (std::size_t i = 0; i < groups_[n].size(); ++i) {
    outline_stage s{at.layer, 1, groups_[n][i]};
    const stage_estimate least = estimate_stage(with_, s, at.group_size > 0 ? &before : nullptr);
    if (least.busy > cap) continue;
    const std::uint32_t last = furthest(at, s, cap);
    const auto size = static_cast<std::uint32_t>(s.group.size());
    for (std::uint32_t e = 0; e < how_.ends && last > at.layer + e; ++e) {
      s.layer_count = last - e - at.layer;
      if (s.layer_count == 0) break;
      const stage_estimate here = estimate_stage(with_, s, nullptr);
      const label made{last - e,
                       from,
                       n,
                       size,
                       at.path + here.once + 2 * least.hop,
                       std::max(at.waiting, std::max(here.busy, least.busy) - here.once),
                       std::max(at.reduce, here.reduce)};
      add(n + size, made);
      if (last == layers_ && e == 0 && how_.ends < 8) break;
    }
  }
}

void label_search::add(std::uint32_t n, const label& made) {
  const rep total = made.path + made.waiting + made.reduce;
  if (made.layer == layers_) {
    if (total >= best_total_) return;
    best_total_ = total;
    best_ = static_cast<std::uint32_t>(all_.size());
    all_.push_back(made);
    return;
  }
  if (total >= best_total_) return;
  at_[n].push_back(static_cast<std::uint32_t>(all_.size()));
  all_.push_back(made);
}

void label_search::thin(std::uint32_t n) {
  auto& here = at_[n];
  if (here.size() <= how_.labels) return;
  const auto late = [this](std::uint32_t i) {
    const label& l = all_[i];
    return l.path + l.waiting + l.reduce - base_[l.layer];
  };
  const auto by_layer = [&](std::uint32_t a, std::uint32_t b) {
    const auto key = [&](std::uint32_t i) { return std::tuple{-rep{all_[i].layer}, late(i), i}; };
    return key(a) < key(b);
  };
  const auto by_time = [&](std::uint32_t a, std::uint32_t b) {
    const auto key = [&](std::uint32_t i) { return std::tuple{late(i), -rep{all_[i].layer}, i}; };
    return key(a) < key(b);
  };
  const auto half = static_cast<std::ptrdiff_t>(how_.labels / 2);
  const auto all = static_cast<std::ptrdiff_t>(how_.labels);
  std::nth_element(here.begin(), here.begin() + half, here.end(), by_layer);
  std::nth_element(here.begin() + half, here.begin() + all, here.end(), by_time);
  here.resize(how_.labels);
}

std::uint32_t label_search::furthest(const label& from, const outline_stage& s, rep cap) const {
  std::uint32_t low = from.layer;
  std::uint32_t high = layers_;
  outline_stage tried = s;
  while (low < high) {
    const std::uint32_t middle = low + (high - low + 1) / 2;
    tried.layer_count = middle - from.layer;
    if (within(tried, cap)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

bool label_search::within(const outline_stage& s, rep cap) const {
  const layer_range r{s.layer_first, s.layer_first + s.layer_count};
  const auto size = static_cast<std::uint32_t>(s.group.size());
  if (estimate_stage(with_, s, nullptr).busy > cap) return false;
  if (roomy_) return true;
  for (std::uint32_t m = 0; m < size; ++m) {
    const bytes offered = with_.space->swarm->peers()[s.group[m].peer].memory_offer;
    if (with_.sums->least_memory(r, {s.group[m].slices, m, size}) > offered) return false;
  }
  return true;
}

outline_stage label_search::stage_at(const label& l) const {
  const auto size = std::find(sizes_.begin(), sizes_.end(), l.group_size) - sizes_.begin();
  const std::uint32_t first = all_[l.parent].layer;
  return {first, l.layer - first, groups_[l.group_first][static_cast<std::size_t>(size)]};
}

outline label_search::path_to(std::uint32_t at) const {
  outline cut;
  for (; all_[at].group_size > 0; at = all_[at].parent) cut.push_back(stage_at(all_[at]));
  std::reverse(cut.begin(), cut.end());
  return cut;
}

}  // namespace perigee::planner
