#include "tests/bench/lines.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace perigee::bench {

namespace {

bool only_shown(const figure& f) { return f.target == 0 && f.at_least; }

bool holds(const figure& f) { return f.at_least ? f.value >= f.target : f.value <= f.target; }

std::string number(double value) {
  return value >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

}  // namespace

std::string line_of(const figure& what) {
  const auto shown = fmt::format("{:<76} {:>9} {:<8}", what.name, number(what.value), what.unit);
  if (only_shown(what)) return shown;
  return fmt::format("{} {} {:<5} {}", shown, what.at_least ? ">=" : "<=", number(what.target),
                     holds(what) ? "ok" : "MISSED");
}

std::string json_line_of(const figure& what) {
  nlohmann::ordered_json j{{"name", what.name}, {"value", what.value}, {"unit", what.unit},
                           {"target", nullptr}, {"bound", nullptr},    {"holds", nullptr}};
  if (!only_shown(what)) {
    j["target"] = what.target;
    j["bound"] = what.at_least ? "at least" : "at most";
    j["holds"] = holds(what);
  }
  return j.dump();
}

}  // namespace perigee::bench
