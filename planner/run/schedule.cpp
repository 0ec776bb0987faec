#include "planner/run/schedule.hpp"

#include "proto/base/check.hpp"

#include <algorithm>

namespace perigee::planner {

namespace {

lane_schedule gpipe(micro_batch_range own, std::uint32_t round) {
  lane_schedule actions;
  const std::uint32_t end = own.first + own.count;
  for (std::uint32_t from = own.first; from < end;) {
    const std::uint32_t to = from + std::min(round, end - from);
    for (std::uint32_t m = from; m < to; ++m) actions.push_back({pass::forward, m});
    for (std::uint32_t m = from; m < to; ++m) actions.push_back({pass::backward, m});
    from = to;
  }
  return actions;
}

lane_schedule one_f_one_b(micro_batch_range own, std::uint32_t depth) {
  lane_schedule actions;
  const std::uint32_t warm_up = std::min(depth, own.count);
  for (std::uint32_t i = 0; i < warm_up; ++i) actions.push_back({pass::forward, own.first + i});
  for (std::uint32_t i = 0; i < own.count; ++i) {
    actions.push_back({pass::backward, own.first + i});
    if (i + warm_up < own.count) actions.push_back({pass::forward, own.first + i + warm_up});
  }
  return actions;
}

}  // namespace

micro_batch_range micro_batches_in(const model_profile& model, slice_range slices) noexcept {
  const std::uint64_t all = model.micro_batch_count;
  const std::uint64_t size = model.slice_size;
  const std::uint64_t first = std::min(all, slices.first * size);
  const std::uint64_t end = std::min(all, (std::uint64_t{slices.first} + slices.count) * size);
  return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(end - first)};
}

lane_schedule schedule_of(const plan& p, const place& where, std::uint32_t lane,
                          const model_profile& model) {
  CHECK(where.stage < p.stages.size());
  const stage& s = p.stages[where.stage];
  CHECK(where.index < s.group.size() && s.in_flight_max >= 1);
  const auto own = micro_batches_in(model, slices_of_lane(s.group[where.index], lane));
  return p.schedule == schedule_kind::gpipe ? gpipe(own, s.in_flight_max)
                                            : one_f_one_b(own, s.in_flight_max);
}

std::uint32_t peak_in_flight(const lane_schedule& actions) noexcept {
  std::uint32_t now = 0;
  std::uint32_t peak = 0;
  for (const lane_action& a : actions) {
    if (a.what == pass::forward) {
      peak = std::max(peak, ++now);
    } else if (now > 0) {
      --now;
    }
  }
  return peak;
}

std::string text(const lane_schedule& actions) {
  std::string line;
  for (const lane_action& a : actions) {
    if (!line.empty()) line += ' ';
    line += (a.what == pass::forward ? 'F' : 'B') + std::to_string(a.micro_batch);
  }
  return line;
}

}  // namespace perigee::planner
