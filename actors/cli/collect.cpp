#include "actors/cli/collect.hpp"

#include "kernels/weights.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace perigee::actors {

namespace {

using namespace std::chrono_literals;

constexpr duration answer_patience = 10s;
constexpr duration transfer_patience = 60s;

result<status_report> status_of(net::client& via) {
  auto answer = via.ask(status_request{}, net::deadline_in(answer_patience));
  if (!answer) return answer.why();
  auto* report = std::get_if<status_report>(&*answer);
  if (report == nullptr)
    return error{errc::malformed, "the peer answered a status request with something else"};
  return std::move(*report);
}

result<progress> finished_job(const status_report& report, job_id job) {
  for (const auto& p : report.jobs) {
    if (p.job != job) continue;
    if (p.phase == job_phase::finished || p.phase == job_phase::halted) return p;
    return error{errc::unavailable,
                 "job " + text(job) + " still runs; export it when it has finished"};
  }
  return error{errc::unavailable, "no peer here knows job " + text(job)};
}

std::string address_of(const status_report& report, peer_id peer) {
  if (report.self.peer == peer) return report.self.address;
  for (const auto& n : report.neighbours) {
    if (n.record.peer == peer) return n.record.address;
  }
  return {};
}

result<std::vector<std::byte>> state_from(net::client& holder, const progress& job,
                                          std::uint32_t layer) {
  if (auto asked = holder.tell(state_request{job.job, layer}); !asked) return asked.why();
  const tensor_ref ref{tensor_kind::state, job.step, layer, 0};
  return holder.receive_tensor({job.job, digest_of(job.current), ref, {}},
                               net::deadline_in(transfer_patience));
}

result<void> add_layer(kernels::tensor_file& file, const specification& spec, std::uint32_t layer,
                       std::span<const std::byte> state) {
  auto named = kernels::parameters_of(spec, layer, state);
  if (!named) return named.why();
  std::move(named->begin(), named->end(), std::back_inserter(file.tensors));
  return {};
}

result<void> add_stage(kernels::tensor_file& file, const job_record& job, const progress& at,
                       const stage& s, net::client& holder) {
  for (std::uint32_t i = 0; i < s.layer_count; ++i) {
    const std::uint32_t layer = s.layer_first + i;
    auto state = state_from(holder, at, layer);
    if (!state) {
      return error{state.why().code, "layer " + std::to_string(layer) + " from " +
                                         text(s.group[0].peer) + ": " + state.why().what};
    }
    if (auto added = add_layer(file, job.spec, layer, *state); !added) return added;
  }
  return {};
}

}  // namespace

result<kernels::tensor_file> collect(net::client& via, const job_record& job,
                                     const net::alarm* stop) {
  auto report = status_of(via);
  if (!report) return report.why();
  auto at = finished_job(*report, job.job);
  if (!at) return at.why();
  kernels::tensor_file file;
  for (const auto& s : at->current.stages) {
    const auto address = address_of(*report, s.group[0].peer);
    auto holder = net::client::connect(address, net::deadline_in(answer_patience), stop);
    if (!holder) return holder.why();
    if (auto added = add_stage(file, job, *at, s, *holder); !added) return added.why();
  }
  file.metadata["job"] = text(job.job);
  file.metadata["steps"] = std::to_string(at->step);
  return file;
}

result<kernels::tensor_file> collect(const runtime& from, const job_record& job,
                                     const progress& last) {
  kernels::tensor_file file;
  for (const auto& s : last.current.stages) {
    for (std::uint32_t layer = s.layer_first; layer < s.layer_first + s.layer_count; ++layer) {
      const auto state = from.state_of(last, layer);
      if (state.empty())
        return error{errc::unavailable, "layer " + std::to_string(layer) + " is not held here"};
      if (auto added = add_layer(file, job.spec, layer, state); !added) return added.why();
    }
  }
  file.metadata["job"] = text(job.job);
  file.metadata["steps"] = std::to_string(last.step);
  return file;
}

}  // namespace perigee::actors
