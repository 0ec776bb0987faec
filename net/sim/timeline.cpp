#include "net/sim/timeline.hpp"

#include <algorithm>
#include <map>

namespace perigee::net {

namespace {

using lane_id = std::pair<peer_id, std::uint32_t>;

struct window {
  instant begin = instant::max();
  instant end = instant::min();
  [[nodiscard]] std::int64_t length() const {
    return std::max<std::int64_t>((end - begin).count(), 1);
  }
};

char letter_of(const computed_span& span) {
  switch (span.kind) {
    case task_kind::forward:
      return static_cast<char>('0' + span.index % 10);
    case task_kind::backward:
      return static_cast<char>('a' + span.index % 10);
    case task_kind::fold:
      return '+';
    case task_kind::measure:
      return '=';
    case task_kind::apply:
      return '*';
  }
  return '?';
}

window window_of(const std::vector<computed_span>& spans, std::uint64_t step) {
  window w;
  for (const computed_span& span : spans) {
    if (span.step != step) continue;
    w.begin = std::min(w.begin, span.begin);
    w.end = std::max(w.end, span.end);
  }
  return w;
}

void paint(const computed_span& span, const window& w, std::string& row) {
  const auto width = static_cast<std::int64_t>(row.size());
  const auto column = [&](instant t) { return (t - w.begin).count() * width / w.length(); };
  const std::int64_t first = std::min(column(span.begin), width - 1);
  const std::int64_t last = std::max(first + 1, std::min(column(span.end), width));
  for (std::int64_t c = first; c < last; ++c) {
    char& letter = row[static_cast<std::size_t>(c)];
    if (letter == '.') letter = letter_of(span);
  }
}

std::string padded(std::string words, std::size_t width) {
  if (words.size() < width) words.append(width - words.size(), ' ');
  return words;
}

/// Rows in plan order; lanes that computed nothing have one too.
std::string rows(const simulation_report& report, const window& w, std::uint64_t step,
                 std::uint32_t width) {
  std::map<lane_id, std::string> painted;
  std::map<lane_id, duration> busy;
  window whole;
  for (const computed_span& span : report.spans) {
    whole.begin = std::min(whole.begin, span.begin);
    whole.end = std::max(whole.end, span.end);
    busy[{span.who, span.lane}] += span.end - span.begin;
    if (span.step != step) continue;
    auto [row, fresh] = painted.try_emplace({span.who, span.lane}, width, '.');
    paint(span, w, row->second);
  }
  std::string lines;
  for (std::size_t s = 0; s < report.current.stages.size(); ++s) {
    for (const member& who : report.current.stages[s].group) {
      for (std::uint32_t lane = 0; lane < lane_count(who); ++lane) {
        const lane_id id{who.peer, lane};
        std::string name = text(who.peer);
        if (lane_count(who) > 1) name += '.' + std::to_string(lane);
        painted.try_emplace(id, width, '.');
        const std::int64_t percent = busy[id].count() * 100 / whole.length();
        lines += padded(name, 7) + '|' + painted[id] + "| stage " + std::to_string(s) + ", busy " +
                 std::to_string(percent) + " %\n";
      }
    }
  }
  return lines;
}

std::string totals(const simulation_report& report) {
  std::string lines;
  for (const peer_work& w : report.work) {
    lines += padded(text(w.peer), 7) + ' ' + std::to_string(w.micro_batches) +
             " micro-batches, sent " + text(w.sent) + ", received " + text(w.received) +
             ", memory " + text(w.memory) + " of " + text(w.offered) + '\n';
  }
  return lines;
}

std::string hexadecimal(std::uint64_t value) {
  std::string digits(16, '0');
  for (std::size_t d = 16; d-- > 0; value >>= 4U) digits[d] = "0123456789abcdef"[value & 15U];
  return digits;
}

}  // namespace

std::string timeline(const simulation_report& report, const timeline_options& options) {
  std::string lines = "plan: " + text(report.current) + '\n';
  if (!report.spans.empty()) {
    const std::uint64_t step = std::min(options.step, report.spans.back().step);
    const window w = window_of(report.spans, step);
    lines += "step " + std::to_string(step) + ": " + text(w.end - w.begin) + ", predicted " +
             text(report.current.predicted_step) +
             "  (0-9 forward, a-j backward, + fold, = measure, * update)\n";
    lines += rows(report, w, step, std::max(options.width, 1U));
  }
  lines += totals(report);
  if (report.phase == job_phase::halted) lines += "halted: " + report.why.what + '\n';
  lines += std::to_string(report.steps) + " steps in " + text(report.took) + " of virtual time; " +
           std::to_string(report.events) + " events, " + std::to_string(report.messages) +
           " messages, " + std::to_string(report.tensors) + " tensors; seed " +
           std::to_string(report.seed) + ", trace " + hexadecimal(report.trace_hash) + '\n';
  if (report.last.step > 0) {
    lines += std::string("the states after step ") + std::to_string(report.last.step) +
             (report.equal ? " are" : " are NOT") + " those of one machine\n";
  }
  return lines;
}

}  // namespace perigee::net
