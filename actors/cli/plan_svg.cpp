#include "actors/cli/plan_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace perigee::actors {

namespace {

constexpr std::size_t lanes_max = 48;
constexpr double left = 170;   // names
constexpr double width = 860;  // of a step
constexpr double row = 26;     // a lane, or a peer's memory
constexpr double bar = 18;
constexpr const char* colours[] = {"#3b6ea5", "#2a8c82", "#6a5aa8",
                                   "#a8763e", "#5b7f3a", "#9a4f70"};

std::string escaped(const std::string& words) {
  std::string safe;
  for (const char letter : words) {
    if (letter == '<') {
      safe += "&lt;";
    } else if (letter == '&') {
      safe += "&amp;";
    } else if (static_cast<unsigned char>(letter) >= 0x20) {
      safe += letter;
    }
  }
  return safe;
}

std::string label(double x, double y, const std::string& words, const char* extra = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x, y, extra, escaped(words));
}

std::string box(double x, double y, double wide, const std::string& fill, const char* extra = "") {
  return fmt::format(
      "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.0f}\" fill=\"{}\"{}/>\n", x, y,
      std::max(wide, 0.3), bar, fill, extra);
}

/// Returns a name short enough for its column.
std::string short_name(const planner::fleet& swarm, peer_id who) {
  std::string name = shown_peer(swarm, who);
  if (name.size() > 17) name = name.substr(0, 16) + ".";
  return name;
}

struct lane_key {
  std::uint32_t stage = 0;
  peer_id peer;
  std::uint32_t lane = 0;
  friend auto operator<=>(const lane_key&, const lane_key&) = default;
};

class drawing {
public:
  drawing(const planner::fleet_request& request, const planner::fleet_plan& made)
      : request_(request),
        made_(made),
        step_(planner::simulate_step({request.model, request.swarm, planner::record::spans},
                                     made.chosen)) {}

  std::string picture() {
    body_ += label(16, 28, "One step: " + text(step_.total), " class=\"h\"");
    body_ += label(16, 48,
                   fmt::format("{} of {} peers, {}; search {}, gap at most {}. Numbers are "
                               "micro-batches; dark forward, light backward.",
                               step_.uses.size(), request_.swarm->size(),
                               made_.chosen.schedule == schedule_kind::gpipe ? "gpipe" : "1f1b",
                               planner::name_of(made_.tier), gap_text(made_)));
    y_ = 74;
    draw_axis();
    draw_lanes();
    draw_memory();
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
               "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n"
               "<style>text{{font:12px sans-serif;fill:#222}} "
               ".h{{font-size:17px;font-weight:bold}} "
               ".m{{font-size:10px;fill:#fff;text-anchor:middle}} .a{{font-size:10px;fill:#666;"
               "text-anchor:middle}}</style>\n"
               "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
               left + width + 40, y_ + 20) +
           body_ + "</svg>\n";
  }

private:
  [[nodiscard]] double at(duration time) const {
    return left + width * static_cast<double>(time.count()) /
                      static_cast<double>(std::max<duration::rep>(step_.total.count(), 1));
  }

  void draw_axis() {
    for (int tick = 0; tick <= 4; ++tick) {
      const duration when = step_.total * tick / 4;
      body_ += label(at(when), y_, text(when), " class=\"a\"");
    }
    y_ += 10;
  }

  void draw_lanes() {
    const double top = y_;
    std::map<lane_key, double> rows;
    std::size_t hidden = 0;
    for (const auto& use : step_.uses) {
      const auto lanes = lane_count(made_.chosen.stages[use.where.stage].group[use.where.index]);
      for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        if (rows.size() == lanes_max) {
          ++hidden;
          continue;
        }
        rows[{use.where.stage, use.peer, lane}] = y_;
        if (lane == 0) body_ += label(16, y_ + 13, short_name(*request_.swarm, use.peer));
        body_ += label(132, y_ + 13, fmt::format("s{}", use.where.stage));
        body_ += box(left, y_, width, "#f1f1f1");
        y_ += row;
      }
    }
    for (const auto& span : step_.spans) draw_span(span, rows);
    mark(step_.passes, top, "passes done");
    if (step_.reduction.count() > 0) mark(step_.passes + step_.reduction, top, "reduced");
    if (hidden > 0) body_ += label(16, y_ + 28, fmt::format("{} more lanes are not drawn", hidden));
    y_ += hidden > 0 ? 56 : 40;
  }

  void draw_span(const planner::pass_span& span, const std::map<lane_key, double>& rows) {
    const auto found = rows.find({span.stage, span.peer, span.lane});
    if (found == rows.end()) return;
    const double wide = at(span.end) - at(span.start);
    const std::string colour = colours[span.stage % std::size(colours)];
    body_ += box(at(span.start), found->second, wide, colour,
                 span.backward ? " fill-opacity=\"0.6\" stroke=\"#fff\" stroke-width=\"0.6\""
                               : " stroke=\"#fff\" stroke-width=\"0.6\"");
    if (wide > 13)
      body_ += label(at(span.start) + wide / 2, found->second + 13,
                     std::to_string(span.micro_batch), " class=\"m\"");
  }

  void mark(duration when, double top, const std::string& words) {
    body_ += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" stroke=\"#c33\" "
        "stroke-dasharray=\"3 3\"/>\n",
        at(when), top - 4, y_);
    marks_ = marks_ > 0 ? 0 : 12;
    body_ += label(at(when) - 4, y_ + 10 + marks_, words, " style=\"text-anchor:end;fill:#c33\"");
  }

  void draw_memory() {
    body_ += label(16, y_, "Memory of each peer against its offer", " class=\"h\"");
    y_ += 16;
    std::size_t drawn = 0;
    for (const auto& use : step_.uses) {
      if (++drawn > lanes_max) break;
      const auto& record = request_.swarm->peers()[request_.swarm->position_of(use.peer)];
      const double offer = static_cast<double>(record.memory_offer.count);
      const double room = width - 300;
      const auto length = [&](bytes size) {
        return room * std::min(1.0, static_cast<double>(size.count) / std::max(offer, 1.0));
      };
      body_ += label(16, y_ + 13, short_name(*request_.swarm, use.peer));
      body_ += label(132, y_ + 13, fmt::format("s{}", use.where.stage));
      body_ += box(left, y_, room, "#f1f1f1", " stroke=\"#999\"");
      const std::string colour = colours[use.where.stage % std::size(colours)];
      body_ += box(left, y_, length(use.reserved), colour, " fill-opacity=\"0.45\"");
      body_ += box(left, y_, length(use.touched), colour);
      body_ += label(left + room + 8, y_ + 13,
                     fmt::format("{} reserved, {} touched, of {}", text(use.reserved),
                                 text(use.touched), text(record.memory_offer)));
      y_ += row;
    }
  }

  const planner::fleet_request& request_;
  const planner::fleet_plan& made_;
  planner::step_report step_;
  std::string body_;
  double y_ = 0;
  double marks_ = 0;
};

}  // namespace

std::string plan_svg(const planner::fleet_request& request, const planner::fleet_plan& made) {
  return drawing(request, made).picture();
}

}  // namespace perigee::actors
