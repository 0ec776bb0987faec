// The page `perigee help job`, made of the table of fields.

#include "actors/cli/job_fields.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

namespace perigee::actors {

namespace {

/// Returns what a field is without being set, as TOML; empty = nothing to speak of.
struct default_asker {
  job_file unset{};
  std::string operator()(const whole& k) const { return std::to_string(k.get(unset)); }
  std::string operator()(const real& k) const { return fmt::format("{}", k.get(unset)); }
  std::string operator()(const flag& k) { return k.at(unset) ? "true" : "false"; }
  std::string operator()(const choice& k) const {
    const auto name = k.get(unset);
    return name.empty() ? "" : fmt::format("\"{}\"", name);
  }
  std::string operator()(const words&) const { return {}; }
  std::string operator()(const counts&) const { return {}; }
  std::string operator()(const peers&) const { return {}; }
};

std::string need_text(const field& f) {
  if (f.how == need::required) return "required";
  const auto unset = std::visit(default_asker{}, f.kind);
  return unset.empty() ? "optional" : "default " + unset;
}

std::string entry(const field& f) {
  std::string line = fmt::format("  {:<17} {}; {}", f.name, range_text(f), need_text(f));
  if (!f.for_kinds.empty()) line += fmt::format("; only {}", fmt::join(f.for_kinds, ", "));
  return line + fmt::format("\n                      {}, e.g. {}\n", f.about, f.example);
}

constexpr const char* head =
    "A job file is TOML. Relative paths in it start at its folder. What is unknown, out of range "
    "or "
    "of no use\nto the kind of model, data, optimizer or rate is refused with its line and "
    "column.\n";

constexpr const char* example =
    "\nExample\n"
    "  name = \"first light\"\n"
    "  steps = 300\n"
    "  mini_batch = 16\n"
    "  micro_batch = 2\n"
    "\n"
    "  [model]\n"
    "  kind = \"gpt\"\n"
    "  blocks = 4\n"
    "  width = 128\n"
    "  heads = 4\n"
    "  context = 64\n"
    "\n"
    "  [data]\n"
    "  kind = \"text\"\n"
    "  path = \"/usr/share/common-licenses/GPL-3\"\n"
    "  validation = 0.1\n"
    "\n"
    "  [optimizer]\n"
    "  kind = \"adamw\"\n"
    "  learning_rate = 0.002\n"
    "\n"
    "  [plan]\n"
    "  stages = 4\n";

}  // namespace

std::string job_help() {
  std::string page = head;
  std::string section = "?";
  for (const field& f : job_fields()) {
    if (f.section != section)
      page += f.section.empty() ? "\nAt the top\n" : fmt::format("\n[{}]\n", f.section);
    section = f.section;
    page += entry(f);
  }
  return page + example;
}

}  // namespace perigee::actors
