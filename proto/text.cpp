// The one-line forms of names, tasks and messages: for logs, traces and people.

#include "proto/message.hpp"

#include <bit>
#include <cstdio>

namespace perigee {

namespace {

std::string number(std::uint64_t n) { return std::to_string(n); }

std::string of_step(std::uint64_t step) { return " of step " + number(step); }

std::string after_steps(std::uint64_t steps) {
  return " after " + number(steps) + (steps == 1 ? " step" : " steps");
}

std::string hexadecimal(std::uint64_t value) {
  char line[17];
  std::snprintf(line, sizeof line, "%016llx", static_cast<unsigned long long>(value));
  return line;
}

/// Returns a loss in six significant digits; its exact bits are for programs.
std::string loss_text(std::uint64_t bits) {
  char line[32];
  std::snprintf(line, sizeof line, "%.6g", std::bit_cast<double>(bits));
  return line;
}

std::string text(const error& why) { return std::string(text(why.code)) + ": " + why.what; }

std::string text(const non_finite& where) {
  return "layer " + number(where.layer) + ", micro-batch " + number(where.micro_batch);
}

std::string of_epoch(job_id job, std::uint64_t epoch) {
  return " of job " + text(job) + " epoch " + number(epoch);
}

struct teller {
  std::string operator()(const peer_record& m) const {
    return "peer record " + text(m.peer) + " '" + m.name + "' at " + m.address + ", version " +
           number(m.incarnation) + '.' + number(m.version);
  }
  std::string operator()(const ping& m) const { return "ping " + number(m.count); }
  std::string operator()(const pong& m) const { return "pong " + number(m.count); }
  std::string operator()(const job_record& m) const {
    const std::string line = "job " + text(m.job) + " '" + m.wanted.name + '\'';
    return m.after_epoch == 0 ? line : line + " after epoch " + number(m.after_epoch);
  }
  std::string operator()(const proposal& m) const {
    return "proposal" + of_epoch(m.what.job, m.what.epoch) + " from step " + number(m.base_step) +
           ", plan " + hexadecimal(digest_of(m.what));
  }
  std::string operator()(const acceptance& m) const {
    return "acceptance" + of_epoch(m.job, m.epoch) + ", plan " + hexadecimal(m.plan_digest);
  }
  std::string operator()(const refusal& m) const {
    return "refusal" + of_epoch(m.job, m.epoch) + ", " + text(m.why);
  }
  std::string operator()(const commitment& m) const {
    return "commitment" + of_epoch(m.what.what.job, m.what.what.epoch) + " from step " +
           number(m.what.base_step) + ", plan " + hexadecimal(digest_of(m.what.what));
  }
  std::string operator()(const measurement& m) const {
    const std::string line =
        "measurement of stage " + number(m.stage) + of_step(m.step) + of_epoch(m.job, m.epoch);
    return m.finite ? line : line + ", not finite at " + text(m.where);
  }
  std::string operator()(const state_report& m) const {
    return "state report of layers [" + number(m.layer_first) + ',' +
           number(m.layer_first + m.states.size()) + ')' + after_steps(m.step) +
           of_epoch(m.job, m.epoch);
  }
  std::string operator()(const halt& m) const {
    return "halt" + after_steps(m.step) + of_epoch(m.job, m.epoch) + ", " + text(m.why);
  }
  std::string operator()(const submission& m) const { return "submission of " + (*this)(m.what); }
  std::string operator()(const receipt& m) const {
    return "receipt of job " + text(m.job) + (m.accepted ? ", accepted" : ", " + text(m.why));
  }
  std::string operator()(const subscription& m) const {
    return "subscription to job " + text(m.job);
  }
  std::string operator()(const progress& m) const {
    std::string line = "progress of job " + text(m.job) + ", " + std::string(text(m.phase)) +
                       ", step " + number(m.step) + '/' + number(m.steps);
    if (m.last.step > 0) line += ", loss " + loss_text(m.last.loss_bits);
    return m.why.what.empty() ? line : line + ", " + text(m.why);
  }
  std::string operator()(const account& m) const {
    return "account of " + text(m.work.peer) + " for job " + text(m.job) + ", " +
           number(m.work.micro_batches) + " micro-batches";
  }
  std::string operator()(const remark& m) const {
    return "remark on job " + text(m.job) + ", " + m.line;
  }
  std::string operator()(const status_request&) const { return "status request"; }
  std::string operator()(const status_report& m) const {
    return "status report of " + text(m.self.peer) + ", " + number(m.neighbours.size()) +
           " neighbours, " + number(m.jobs.size()) + " jobs";
  }
  std::string operator()(const state_request& m) const {
    return "state request for layer " + number(m.layer) + " of job " + text(m.job);
  }
  std::string operator()(const missing& m) const {
    return "missing state of layer " + number(m.layer) + " of job " + text(m.job) + ", " +
           text(m.why);
  }
  std::string operator()(const farewell&) const { return "farewell"; }
};

}  // namespace

std::string text(const tensor_ref& ref) {
  const std::string layer = number(ref.layer);
  const std::string index = number(ref.index);
  switch (ref.kind) {
    case tensor_kind::activation:
      return "activation " + index + '@' + layer + of_step(ref.step);
    case tensor_kind::activation_gradient:
      return "activation gradient " + index + '@' + layer + of_step(ref.step);
    case tensor_kind::gradient:
      return "gradient " + layer + "[0," + index + ')' + of_step(ref.step);
    case tensor_kind::state:
      return "state " + layer + after_steps(ref.step);
  }
  return "tensor of unknown kind";
}

std::string text(const task& t) {
  constexpr const char* names[] = {"forward ", "backward ", "fold ", "measure ", "apply "};
  return names[static_cast<std::size_t>(t.kind)] + number(t.index) + of_step(t.step);
}

std::string text(const outcome& o) {
  std::string line = o.finite ? "done" : "not finite at " + text(o.where);
  if (!o.values.empty()) line += ", " + number(o.values.size()) + " values";
  if (o.counted > 0) line += ", loss " + loss_text(o.loss_bits) + " over " + number(o.counted);
  return line + ", " + text(o.elapsed);
}

std::string text(const message& m) { return std::visit(teller{}, m); }

}  // namespace perigee
