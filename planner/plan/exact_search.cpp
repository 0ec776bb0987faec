#include "planner/plan/exact_search.hpp"

#include "planner/plan/bound.hpp"

#include <algorithm>
#include <limits>

namespace perigee::planner {

namespace {

using rep = duration::rep;

class branch_and_bound {
public:
  explicit branch_and_bound(const exact_request& request)
      : request_(request),
        space_(*request.with.space),
        sums_(*request.with.sums),
        taken_(space_.swarm->size()),
        limit_(request.beat.count()) {
    branch(0, {});
    found_.proven = found_.nodes <= request_.nodes_max;
  }

  exact_result result() { return std::move(found_); }

private:
  /// What must happen before and after a stage.
  struct ramp {
    rep forward = 0;
    rep both = 0;
    rep least = 0;  // no plan that begins so is faster
  };

  void branch(std::uint32_t layer, const ramp& so_far) {
    if (++found_.nodes > request_.nodes_max) return;
    if (layer == sums_.layers()) return judge();
    if (so_far.both + rest(layer) >= limit_) return;
    cut_.push_back({layer, 1, {}});
    for (std::uint32_t end = layer + 1; end <= sums_.layers(); ++end) {
      cut_.back().layer_count = end - layer;
      group(0, space_.model->slice_count, so_far);
    }
    cut_.pop_back();
  }

  rep rest(std::uint32_t layer) const {
    std::vector<std::uint32_t> left;
    for (std::uint32_t p = 0; p < taken_.size(); ++p)
      if (taken_[p] == 0) left.push_back(p);
    return work_bound(space_, sums_, {layer, sums_.layers()}, left);
  }

  void group(std::uint32_t from, std::uint32_t slices, const ramp& so_far) {
    if (slices == 0) return close(so_far);
    for (std::uint32_t p = from; p < taken_.size(); ++p) {
      if (taken_[p] != 0 || twin_is_free(p)) continue;
      taken_[p] = 1;
      for (std::uint32_t k = 1; k <= slices; ++k) {
        cut_.back().group.push_back({p, k});
        if (so_far.both + passes(cut_.back(), cut_.back().group.back()) < limit_)
          group(p + 1, slices - k, so_far);
        cut_.back().group.pop_back();
        if (found_.nodes > request_.nodes_max) break;
      }
      taken_[p] = 0;
    }
  }

  /// Returns whether the peer before is the same in all and not taken. Of twins further apart, one
  /// may stand before and one behind another member of a group.
  bool twin_is_free(std::uint32_t p) const {
    if (!space_.swarm->uniform() || p == 0 || taken_[p - 1] != 0) return false;
    const peer_record& a = space_.swarm->peers()[p - 1];
    const peer_record& b = space_.swarm->peers()[p];
    return sums_.class_of(p - 1) == sums_.class_of(p) && a.workers == b.workers &&
           a.memory_offer == b.memory_offer;
  }

  rep passes(const outline_stage& s, const part& who) const {
    const auto at_most = space_.swarm->peers()[who.peer].workers;
    const auto lanes = std::min(at_most, who.slices);
    const layer_range r{s.layer_first, s.layer_first + s.layer_count};
    // The last slice may be short, so the busiest lane of `lanes` does no less than its share.
    const std::uint32_t own = who.slices * space_.model->slice_size;
    const std::uint32_t short_by =
        space_.model->slice_size * space_.model->slice_count - space_.model->micro_batch_count;
    const std::uint32_t least = own > short_by ? own - short_by : 1;
    return sums_.pass(who.peer, r) * rep{(least + lanes - 1) / lanes};
  }

  void close(const ramp& so_far) {
    const outline_stage s = cut_.back();
    const outline_stage* before = cut_.size() > 1 ? &cut_[cut_.size() - 2] : nullptr;
    const layer_range r{s.layer_first, s.layer_first + s.layer_count};
    rep busy = 0;
    rep both = std::numeric_limits<rep>::max();
    rep forward = both;
    for (const part& who : s.group) {
      busy = std::max(busy, passes(s, who));
      both = std::min(both, sums_.pass(who.peer, r));
      forward = std::min(forward, layers_time(*space_.model, r.first, r.end - r.first,
                                              space_.swarm->peers()[who.peer].rate)
                                      .forward.count());
    }
    const rep hop = before == nullptr ? 0 : least_hop(*before, s);
    ramp next;
    const rep reduce = least_reduction(s, r);
    next.least = std::max(
        {so_far.least, so_far.both + 2 * hop + busy, so_far.forward + hop + busy + reduce});
    if (next.least >= limit_) return;
    next.forward = so_far.forward + hop + forward;
    next.both = so_far.both + 2 * hop + both;
    branch(r.end, next);
  }

  rep least_hop(const outline_stage& a, const outline_stage& b) const {
    const bytes size = space_.model->layers[b.layer_first].input;
    rep least = std::numeric_limits<rep>::max();
    for (const part& from : a.group)
      for (const part& to : b.group)
        least = std::min(least,
                         link_time(size, space_.swarm->between(from.peer, to.peer).link).count());
    return least;
  }

  rep least_reduction(const outline_stage& s, layer_range r) const {
    rep slowest = 0;
    for (std::size_t m = 1; m < s.group.size(); ++m)
      slowest = std::max(
          slowest, sums_.reduce(r, static_cast<std::uint32_t>(s.group.size()),
                                space_.swarm->between(s.group[m - 1].peer, s.group[m].peer).link));
    return slowest;
  }

  void judge() {
    auto p = fitted(space_, cut_);
    if (!p) return;
    const simulation_request request{space_.model, space_.swarm};
    const rep total = simulate_step(request, *p).total.count();
    if (total >= limit_) return;
    limit_ = total;
    p->predicted_step = duration{total};
    found_.best = std::move(*p);
  }

  const exact_request& request_;
  const planning_space& space_;
  const layer_sums& sums_;
  std::vector<char> taken_;
  rep limit_;
  outline cut_;
  exact_result found_;
};

}  // namespace

exact_result search_exactly(const exact_request& request) {
  return branch_and_bound(request).result();
}

}  // namespace perigee::planner
