#include "actors/cli/collect.hpp"

#include "actors/cli/ask_status.hpp"
#include "kernels/weights.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace perigee::actors {

namespace {

using namespace std::chrono_literals;

constexpr duration answer_patience = 10s;
constexpr duration transfer_patience = 60s;

result<progress> finished_job(const status_report& report, job_id job) {
  for (const auto& p : report.jobs) {
    if (p.job != job) continue;
    const bool over = p.phase == job_phase::finished || p.phase == job_phase::halted;
    if (over && p.current.stages.empty())
      return error{errc::unavailable, "job " + text(job) + " never ran: " + p.why.what};
    if (over) return p;
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

result<void> add_layer(kernels::tensor_file& file,
                       result<std::vector<kernels::named_tensor>> named) {
  if (!named) return named.why();
  std::move(named->begin(), named->end(), std::back_inserter(file.tensors));
  return {};
}

/// What is collected: the job as it ended, and how large each layer's state is.
struct finished_model {
  const job_record& job;
  const progress& at;
  kernels::dataset_info data;
  std::vector<bytes> sizes;
};

result<finished_model> model_of(const job_record& job, const progress& at) {
  auto data = kernels::open_dataset(job.spec.data, job.spec.model.context);
  if (!data) return data.why();
  auto sizes = kernels::state_sizes(job.spec, (*data)->info());
  if (!sizes) return sizes.why();
  return finished_model{job, at, (*data)->info(), std::move(*sizes)};
}

result<std::vector<std::byte>> state_from(net::client& holder, const finished_model& model,
                                          std::uint32_t layer) {
  if (layer >= model.sizes.size()) return error{errc::malformed, "the model has no such layer"};
  const state_request question{model.job.job, layer};
  if (auto asked = holder.tell(question, net::deadline_in(answer_patience)); !asked) {
    return asked.why();
  }
  const tensor_ref ref{tensor_kind::state, model.at.step, layer, 0};
  return holder.receive_tensor(
      {model.job.job, digest_of(model.at.current), ref, model.sizes[layer]},
      net::deadline_in(transfer_patience));
}

result<void> add_stage(kernels::tensor_file& file, const finished_model& model, const stage& s,
                       net::client& holder) {
  for (std::uint32_t layer = s.layer_first; layer < s.layer_first + s.layer_count; ++layer) {
    auto state = state_from(holder, model, layer);
    if (!state) {
      return error{state.why().code, "layer " + std::to_string(layer) + " from " +
                                         text(s.group[0].peer) + ": " + state.why().what};
    }
    auto named = kernels::parameters_of(model.job.spec, model.data, layer, *state);
    if (auto added = add_layer(file, std::move(named)); !added) return added;
  }
  return {};
}

}  // namespace

result<kernels::tensor_file> collect(net::client& via, const job_record& job,
                                     const net::alarm* stop) {
  const auto answer = ask_status(via, net::deadline_in(answer_patience));
  if (!answer) return answer.why();
  const auto& report = answer->report;
  auto at = finished_job(report, job.job);
  if (!at) return at.why();
  const auto model = model_of(job, *at);
  if (!model) return model.why();
  kernels::tensor_file file;
  for (const auto& s : at->current.stages) {
    const auto address = address_of(report, s.group[0].peer);
    auto holder = net::client::connect(address, net::deadline_in(answer_patience), stop);
    if (!holder) return holder.why();
    if (auto added = add_stage(file, *model, s, *holder); !added) return added.why();
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
      auto named = kernels::parameters_of(job.spec, layer, state);
      if (auto added = add_layer(file, std::move(named)); !added) return added.why();
    }
  }
  file.metadata["job"] = text(job.job);
  file.metadata["steps"] = std::to_string(last.step);
  return file;
}

}  // namespace perigee::actors
