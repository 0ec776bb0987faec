#include "proto/plan.hpp"

#include "proto/base/hash.hpp"

#include <algorithm>

namespace perigee {

namespace {

/// Returns e.g. `layers 2-5`, or `layer 2` of one, or `no layers`.
std::string range_text(const char* what, std::uint32_t first, std::uint32_t count) {
  if (count == 0) return std::string("no ") + what + 's';
  if (count == 1) return std::string(what) + ' ' + std::to_string(first);
  const std::uint64_t last = std::uint64_t{first} + count - 1;
  return std::string(what) + "s " + std::to_string(first) + '-' + std::to_string(last);
}

std::string text(const member& m) {
  std::string line = text(m.peer) + " (" + range_text("slice", m.slice_first, m.slice_count);
  if (m.workers != 1) line += ", " + std::to_string(m.workers) + " workers";
  return line + ')';
}

std::string text(const stage& s) {
  std::string line = range_text("layer", s.layer_first, s.layer_count) + " on ";
  for (std::size_t i = 0; i < s.group.size(); ++i) line += (i == 0 ? "" : " + ") + text(s.group[i]);
  return s.group.empty() ? line + "nobody" : line;
}

std::uint64_t hash_of_stage(std::uint64_t h, const stage& s) noexcept {
  h = hash_of(h, s.layer_first, s.layer_count, s.in_flight_max, s.group.size());
  for (const member& m : s.group)
    h = hash_of(h, m.peer.value, m.slice_first, m.slice_count, m.workers);
  return h;
}

}  // namespace

place place_of(const plan& p, peer_id peer) noexcept {
  for (std::size_t s = 0; s < p.stages.size(); ++s) {
    const auto& group = p.stages[s].group;
    const auto at =
        std::find_if(group.begin(), group.end(), [&](const member& m) { return m.peer == peer; });
    if (at != group.end())
      return {static_cast<std::uint32_t>(s), static_cast<std::uint32_t>(at - group.begin())};
  }
  return {static_cast<std::uint32_t>(p.stages.size()), 0};
}

std::vector<peer_id> participants(const plan& p) {
  std::vector<peer_id> peers;
  for (const stage& s : p.stages)
    for (const member& m : s.group) peers.push_back(m.peer);
  return peers;
}

std::uint32_t lane_count(const member& m) noexcept { return std::min(m.workers, m.slice_count); }

slice_range slices_of_lane(const member& m, std::uint32_t lane) noexcept {
  const std::uint32_t lanes = lane_count(m);
  if (lane >= lanes) return {m.slice_first + m.slice_count, 0};
  const std::uint32_t each = m.slice_count / lanes;
  const std::uint32_t larger = m.slice_count % lanes;
  return {m.slice_first + lane * each + std::min(lane, larger), each + (lane < larger ? 1U : 0U)};
}

std::uint64_t digest_of(const plan& p) noexcept {
  std::uint64_t h = hash_of(p.job.value.high, p.job.value.low, p.epoch,
                            static_cast<std::uint64_t>(p.schedule), p.stages.size());
  for (const stage& s : p.stages) h = hash_of_stage(h, s);
  return h;
}

std::string text(const plan& p) {
  std::string line =
      "epoch " + std::to_string(p.epoch) + ", " + std::string(text(p.schedule)) + ": ";
  for (std::size_t i = 0; i < p.stages.size(); ++i)
    line += (i == 0 ? "" : " | ") + text(p.stages[i]);
  return p.stages.empty() ? line + "no stages" : line;
}

}  // namespace perigee
