#include "actors/cli/job_check.hpp"

#include <fmt/core.h>

#include <numeric>
#include <set>
#include <span>

namespace perigee::actors {

namespace {

using verdict = std::optional<misfit>;

constexpr std::uint32_t micro_batches_max = 65536;  // of a mini-batch
constexpr std::uint64_t channels_max = 65536;

std::string plural(std::uint64_t count, std::string_view what) {
  const char* ending = count == 1 ? "" : what.ends_with("ch") ? "es" : "s";
  return fmt::format("{} {}{}", count, what, ending);
}

verdict check_batches(const specification& s) {
  if (s.mini_batch % s.micro_batch != 0)
    return misfit{"", "micro_batch",
                  fmt::format("micro_batch = {} does not divide mini_batch = {}", s.micro_batch,
                              s.mini_batch)};
  const auto count = micro_batch_count(s);
  if (count > micro_batches_max)
    return misfit{"", "micro_batch",
                  fmt::format("a mini-batch of {} micro-batches; at most {} are possible", count,
                              micro_batches_max)};
  if (s.slice > count)
    return misfit{"", "slice",
                  fmt::format("slice = {} is more than the {} of a mini-batch", s.slice,
                              plural(count, "micro-batch"))};
  return {};
}

verdict check_model(const specification& s) {
  const bool gpt = s.model.kind == model_kind::gpt;
  if (gpt && s.model.width % s.model.heads != 0)
    return misfit{
        "model", "heads",
        fmt::format("heads = {} does not divide width = {}", s.model.heads, s.model.width)};
  if (s.model.kind == model_kind::resnet) {
    const std::size_t doublings = s.model.stages.size() - 1;
    if (doublings > 16 || (std::uint64_t{s.model.width} << doublings) > channels_max)
      return misfit{
          "model", "stages",
          fmt::format("{} double width = {} beyond {} channels",
                      plural(s.model.stages.size(), "resolution"), s.model.width, channels_max)};
  }
  const bool text = s.data.kind == data_kind::text;
  const bool onnx = s.model.kind == model_kind::onnx;
  if (gpt && !text) return misfit{"data", "kind", "a gpt learns from text, not from images"};
  if (!gpt && !onnx && text) return misfit{"data", "kind", "only a gpt learns from text"};
  if (s.optimizer.nesterov && s.optimizer.momentum == 0)
    return misfit{"optimizer", "nesterov", "nesterov needs a momentum above 0"};
  return {};
}

verdict check_replicas(const job_file& job) {
  const auto stages = job.wanted.stages;
  const auto& replicas = job.wanted.replicas;
  if (replicas.size() > 1 && replicas.size() != stages)
    return misfit{"plan", "replicas",
                  stages == 0 ? fmt::format("replicas of {} need stages = {}",
                                            plural(replicas.size(), "stage"), replicas.size())
                              : fmt::format("replicas of {}, but stages = {}",
                                            plural(replicas.size(), "stage"), stages)};
  for (const auto count : replicas)
    if (count > slice_count(job.spec))
      return misfit{"plan", "replicas",
                    fmt::format("{} replicas need a slice each, but a mini-batch has {}", count,
                                plural(slice_count(job.spec), "slice"))};
  return {};
}

/// Returns the replicas of each stage, if the wishes fix them.
std::vector<std::uint32_t> groups_of(const wishes& w) {
  if (w.replicas.size() == 1 && w.stages > 0)
    return std::vector<std::uint32_t>(w.stages, w.replicas.front());
  return w.replicas.size() == w.stages ? w.replicas : std::vector<std::uint32_t>{};
}

verdict check_shares(const job_file& job) {
  const auto& shares = job.wanted.shares;
  if (shares.empty()) return {};
  const auto groups = groups_of(job.wanted);
  if (groups.empty()) return misfit{"plan", "shares", "shares need stages and replicas"};
  const auto members = std::accumulate(groups.begin(), groups.end(), std::uint64_t{0});
  if (shares.size() != members)
    return misfit{
        "plan", "shares",
        fmt::format("{} for {}", plural(shares.size(), "share"), plural(members, "peer"))};
  std::span<const std::uint32_t> rest = shares;
  for (std::size_t stage = 0; stage < groups.size(); ++stage) {
    const auto own = rest.first(groups[stage]);
    rest = rest.subspan(groups[stage]);
    const auto sum = std::accumulate(own.begin(), own.end(), std::uint64_t{0});
    if (sum != slice_count(job.spec))
      return misfit{"plan", "shares",
                    fmt::format("shares of stage {} make {}, but a mini-batch has {}", stage, sum,
                                plural(slice_count(job.spec), "slice"))};
  }
  return {};
}

verdict check_order(const wishes& w) {
  std::set<peer_id> seen;
  for (const peer_id peer : w.order)
    if (!seen.insert(peer).second)
      return misfit{"plan", "order", fmt::format("{} stands twice in order", text(peer))};
  const auto groups = groups_of(w);
  const auto needed = std::accumulate(groups.begin(), groups.end(), std::uint64_t{0});
  if (!w.order.empty() && w.order.size() < needed)
    return misfit{"plan", "order",
                  fmt::format("order names {}, but the plan needs {}",
                              plural(w.order.size(), "peer"), needed)};
  return {};
}

}  // namespace

std::optional<misfit> misfit_in(const job_file& job) {
  if (auto found = check_batches(job.spec)) return found;
  if (auto found = check_model(job.spec)) return found;
  if (auto found = check_replicas(job)) return found;
  if (auto found = check_shares(job)) return found;
  return check_order(job.wanted);
}

}  // namespace perigee::actors
