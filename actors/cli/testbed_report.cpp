#include "actors/cli/testbed_report.hpp"

#include "actors/cli/child.hpp"
#include "kernels/data/dataset.hpp"
#include "kernels/evaluate.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>

namespace perigee::actors {

namespace {

constexpr std::uint64_t judged_samples_max = 512;
constexpr std::uint32_t sample_tokens = 240;
constexpr std::uint32_t sample_temperature_permille = 800;
constexpr duration look_period = std::chrono::milliseconds(100);  // between two looks for Ctrl-C

/// Returns the digest in the last line of a `train --local --json` log.
result<digest128> digest_in(const std::string& log) {
  std::ifstream in(log);
  std::string line;
  std::string found;
  while (std::getline(in, line)) {
    const auto j = nlohmann::json::parse(line, nullptr, false);
    if (j.is_object() && j.value("phase", "") == "finished" && j.contains("digest"))
      found = j["digest"];
  }
  if (found.size() != 32)
    return error{errc::stale, "the verifying process told no digest; its log: " + log};
  return digest128{std::stoull(found.substr(0, 16), nullptr, 16),
                   std::stoull(found.substr(16), nullptr, 16)};
}

bool worked(const peer_work& w, bool alone) {
  return w.micro_batches != 0 && (alone || (w.sent.count != 0 && w.received.count != 0));
}

std::string quoted(const std::string& sample) {
  std::string out = "  | ";
  for (const char c : sample) {
    out += c;
    if (c == '\n') out += "  | ";
  }
  return out;
}

void print_json(const testbed_report& r) {
  nlohmann::json j{
      {"event", "report"},
      {"steps", r.last.step},
      {"training_loss", r.training_loss},
      {"digest", text(digest_of(r.last.last))},
      {"predicted_step_s", std::chrono::duration<double>(r.last.current.predicted_step).count()},
      {"measured_step_s", std::chrono::duration<double>(r.step).count()},
      {"peers", nlohmann::json::array()}};
  if (r.validation) j["validation_loss"] = r.validation->loss;
  if (r.validation) j["validation_accuracy"] = r.validation->accuracy();
  if (!r.sample.empty()) j["sample"] = r.sample;
  if (r.verified) j["verified_digest"] = text(*r.verified);
  if (r.verified) j["equal"] = *r.verified == digest_of(r.last.last);
  for (const auto& w : r.last.work) {
    j["peers"].push_back({{"peer", text(w.peer)},
                          {"micro_batches", w.micro_batches},
                          {"sent", w.sent.count},
                          {"received", w.received.count},
                          {"memory", w.memory.count}});
  }
  fmt::print("{}\n", j.dump());
}

void print_people(const testbed_report& r) {
  fmt::print("\n{}\n", work_table(r.last.work));
  fmt::print("step time        predicted {}, measured {}\n", text(r.last.current.predicted_step),
             text(r.step));
  fmt::print("training loss    {:.4f}\n", r.training_loss);
  if (r.validation) {
    fmt::print("validation loss  {:.4f}, accuracy {:.1f} %\n", r.validation->loss,
               100 * r.validation->accuracy());
  }
  if (!r.sample.empty()) fmt::print("a sample of what it writes:\n{}\n", quoted(r.sample));
  fmt::print("digest           {}  ({} peers)\n", text(digest_of(r.last.last)), r.last.work.size());
  if (!r.verified) return;
  const bool equal = *r.verified == digest_of(r.last.last);
  fmt::print("digest           {}  (one process)\n{}\n", text(*r.verified),
             equal ? "equal: the plan did not change the answer"
                   : "DIFFERENT: this is a bug of perigee, or of a kernel");
}

}  // namespace

bool testbed_report::holds(bool with_verification) const {
  const bool alone = last.work.size() == 1;
  const bool all_worked =
      !last.work.empty() && std::all_of(last.work.begin(), last.work.end(),
                                        [&](const auto& w) { return worked(w, alone); });
  return all_worked && (!with_verification || verified == digest_of(last.last));
}

result<void> judge(const specification& spec, const kernels::tensor_file& weights,
                   const signals& stop, testbed_report& report) {
  const auto stopped = [&stop] { return stop.came(); };
  auto data = kernels::open_dataset(spec.data, spec.model.context);
  if (!data) return data.why();
  const auto training = kernels::evaluate(spec, **data, weights,
                                          {kernels::split::training, judged_samples_max, stopped});
  if (!training) return training.why();
  report.training_loss = training->loss;
  if ((*data)->info().validation_count != 0) {
    kernels::judged_part all;
    all.stopped = stopped;
    auto validation = kernels::evaluate(spec, **data, weights, all);
    if (!validation) return validation.why();
    report.validation = *validation;
  }
  if (spec.model.kind != model_kind::gpt) return {};
  auto sample = kernels::generate(
      spec, **data, weights, {"", sample_tokens, spec.seed, sample_temperature_permille, stopped});
  if (!sample) return sample.why();
  report.sample = std::move(*sample);
  return {};
}

result<void> verify(const verification& asked, const signals& stop, testbed_report& report) {
  auto alone =
      child::start({own_program(), "train", "--local", asked.job_file, "--json", "--workers",
                    std::to_string(asked.workers), "--parent", std::to_string(getpid())},
                   asked.folder + "/verify.log");
  if (!alone) return alone.why();
  std::optional<int> code;
  while (!code && !stop.came()) code = alone->wait(look_period);
  if (!code) return error{errc::stale, "interrupted while verifying"};
  if (*code != 0) {
    return error{errc::stale, fmt::format("the verifying process ended with exit code {}", *code)};
  }
  auto digest = digest_in(alone->log());
  if (!digest) return digest.why();
  report.verified = *digest;
  return {};
}

void print(const testbed_report& report, output how) {
  how == output::json ? print_json(report) : print_people(report);
}

}  // namespace perigee::actors
