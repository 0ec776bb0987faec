#include "actors/cli/view.hpp"

#include "proto/digest.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace perigee::actors {

namespace {

using std::chrono::duration_cast;

constexpr std::size_t bar_width_max = 24;
constexpr std::size_t usual_columns = 80;  // of a terminal that does not say
constexpr std::size_t no_columns = 1000;   // where lines do not wrap
constexpr std::size_t usual_text = 64;     // letters of a line beside its bar

double seconds(duration d) { return std::chrono::duration<double>(d).count(); }

std::string_view name_of(job_phase phase) {
  constexpr std::string_view names[] = {"waiting", "planning", "preparing",
                                        "running", "finished", "halted"};
  return names[static_cast<std::size_t>(phase)];
}

nlohmann::json json_of(const plan& p) {
  auto stages = nlohmann::json::array();
  for (const auto& s : p.stages) {
    auto group = nlohmann::json::array();
    for (const auto& m : s.group) {
      group.push_back({{"peer", text(m.peer)},
                       {"slice_first", m.slice_first},
                       {"slice_count", m.slice_count},
                       {"workers", m.workers}});
    }
    stages.push_back(
        {{"layer_first", s.layer_first}, {"layer_count", s.layer_count}, {"group", group}});
  }
  return {{"epoch", p.epoch}, {"stages", stages}, {"predicted_step_s", seconds(p.predicted_step)}};
}

nlohmann::json json_of(const progress& p) {
  nlohmann::json j{{"event", "progress"},
                   {"job", text(p.job)},
                   {"phase", name_of(p.phase)},
                   {"step", p.step},
                   {"steps", p.steps}};
  if (!p.current.stages.empty()) j["plan"] = json_of(p.current);
  if (!p.why.what.empty()) j["why"] = p.why.what;
  if (p.last.states.empty()) return j;
  j["loss"] = loss_of(p.last);
  j["counted"] = p.last.counted;
  j["digest"] = text(digest_of(p.last));
  return j;
}

void print_json(const nlohmann::json& j) {
  fmt::print("{}\n", j.dump());
  std::fflush(stdout);
}

/// Returns e.g. `layers 0-2` or `layer 3`.
std::string range_text(std::string_view what, std::uint32_t first, std::uint32_t count) {
  if (count == 1) return fmt::format("{} {}", what, first);
  return fmt::format("{}s {}-{}", what, first, first + count - 1);
}

std::size_t columns_of(int terminal) {
  winsize size{};
  if (ioctl(terminal, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return usual_columns;
  return size.ws_col;
}

std::string clock_text(double left_s) {
  const auto whole = static_cast<long>(left_s + 0.5);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

view::view(output how, const specification& spec)
    : how_(how), terminal_(isatty(STDOUT_FILENO) == 1), mini_batch_(spec.mini_batch) {}

void view::show(const progress& news) {
  if (news.step < step_shown_) first_time_ = {};  // it began again: so does what is measured
  const bool first = first_time_ == std::chrono::steady_clock::time_point{};
  if (news.step > 0 && news.step != step_shown_) {
    last_time_ = std::chrono::steady_clock::now();
    if (first) {
      first_time_ = last_time_;
      first_step_ = news.step;
    }
  }
  if (how_ == output::json) {
    print_json(json_of(news));
  } else {
    show_plan(news);
    show_step(news);
    if (news.phase == job_phase::waiting && phase_shown_ != news.phase && !news.why.what.empty()) {
      close();
      fmt::print("{}\n", news.why.what);
    }
  }
  phase_shown_ = news.phase;
  step_shown_ = news.step;
  std::fflush(stdout);
}

void view::show(const remark& news) {
  if (how_ == output::json) {
    print_json({{"event", "remark"}, {"line", news.line}});
    return;
  }
  close();
  fmt::print("{}\n", news.line);
  std::fflush(stdout);
}

void view::show_plan(const progress& news) {
  if (news.current.stages.empty() || news.current.epoch == epoch_shown_) return;
  if (news.phase != job_phase::running && news.phase != job_phase::finished) return;
  epoch_shown_ = news.current.epoch;
  close();
  fmt::print("{}", plan_lines(news.current));
}

/// A terminal gets a bar that is redrawn some ten times a second, anything else a line each tenth
/// of the job.
void view::show_step(const progress& news) {
  if (news.last.states.empty() || news.step == step_shown_) return;
  const auto now = std::chrono::steady_clock::now();
  const bool last = news.step == news.steps;
  if (terminal_) {
    if (!last && now - drawn_ < std::chrono::milliseconds(100)) return;
    drawn_ = now;
    fmt::print("\r\x1b[K{}", bar(news));
    bar_open_ = true;
  } else if (last || news.step == 1 ||
             news.step % std::max<std::uint64_t>(1, news.steps / 10) == 0) {
    fmt::print("{}\n", bar(news));
  }
}

std::string view::bar(const progress& news) const {
  const auto head =
      fmt::format("step {:>{}}/{} ", news.step, std::to_string(news.steps).size(), news.steps);
  auto tail = " loss " + loss_text(news.last);
  if (const double step_s = seconds(measured_step()); step_s > 0) {
    const double left_s = step_s * static_cast<double>(news.steps - news.step);
    tail += fmt::format("  {:.1f} steps/s  {:.0f} samples/s  {} left", 1 / step_s,
                        mini_batch_ / step_s, clock_text(left_s));
  }
  // A line that wraps cannot be drawn over: the bar gives way.
  const std::size_t told = head.size() + tail.size();
  const std::size_t columns = terminal_ ? columns_of(STDOUT_FILENO) : no_columns;
  const std::size_t usual = columns > usual_text ? columns - usual_text : 0;
  const std::size_t left = columns > told ? columns - told - 1 : 0;
  const std::size_t width = std::min({bar_width_max, usual, left});
  const double share =
      static_cast<double>(news.step) / static_cast<double>(std::max<std::uint64_t>(1, news.steps));
  const auto full = static_cast<std::size_t>(share * static_cast<double>(width));
  std::string drawn;
  for (std::size_t i = 0; i < width; ++i) drawn += i < full ? "█" : "░";
  auto line = head + drawn + tail;
  if (width == 0 && line.size() >= columns) line.resize(columns - 1);
  return line;
}

void view::close() {
  if (!bar_open_) return;
  fmt::print("\n");
  bar_open_ = false;
}

duration view::measured_step() const {
  if (step_shown_ <= first_step_) return duration::zero();
  return duration_cast<duration>(last_time_ - first_time_) /
         static_cast<std::int64_t>(step_shown_ - first_step_);
}

double loss_of(const commit_record& record) { return std::bit_cast<double>(record.loss_bits); }

std::string loss_text(const commit_record& record) {
  const double loss = loss_of(record);
  return std::abs(loss) < 1e6 ? fmt::format("{:.4f}", loss) : fmt::format("{:.4e}", loss);
}

digest128 digest_of(const commit_record& record) { return combined(record.states); }

std::string plan_lines(const plan& p) {
  auto lines =
      fmt::format("plan {}, {}, predicted step {}\n", p.epoch,
                  p.schedule == schedule_kind::gpipe ? "gpipe" : "1f1b", text(p.predicted_step));
  for (std::size_t i = 0; i < p.stages.size(); ++i) {
    const stage& s = p.stages[i];
    lines += fmt::format("  stage {}: {} on", i, range_text("layer", s.layer_first, s.layer_count));
    for (const member& m : s.group) {
      lines +=
          fmt::format(" {} ({})", text(m.peer), range_text("slice", m.slice_first, m.slice_count));
    }
    lines += '\n';
  }
  return lines;
}

std::string work_table(const std::vector<peer_work>& work) {
  auto table = fmt::format("{:<8} {:>13} {:>11} {:>11} {:>11} {:>11} {:>11}\n", "peer",
                           "micro-batches", "sent", "received", "computing", "memory", "offered");
  for (const auto& w : work) {
    table += fmt::format("{:<8} {:>13} {:>11} {:>11} {:>11} {:>11} {:>11}\n", text(w.peer),
                         w.micro_batches, text(w.sent), text(w.received), text(w.computing),
                         text(w.memory), text(w.offered));
  }
  return table;
}

}  // namespace perigee::actors
