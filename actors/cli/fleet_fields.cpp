#include "actors/cli/fleet_fields.hpp"

#include "actors/cli/fleet_file.hpp"

#include <fmt/core.h>

#include <cmath>

namespace perigee::actors {

namespace {

constexpr std::uint64_t mebibyte = 1U << 20U;
constexpr double giga = 1e9;

fleet_field rate_field(work_class what, const std::string& name, const std::string& about,
                       const std::string& example) {
  const auto set = [what](fleet_entry& e, double value) {
    e.peer.rate[static_cast<std::size_t>(what)] =
        static_cast<std::uint64_t>(std::llround(value * giga));
  };
  const bool first = what == work_class::matrix;
  return {"peer",
          name,
          first ? fleet_need::required : fleet_need::optional,
          fleet_real{0.001, 1e9, set},
          about,
          example};
}

void add_link_fields(const std::string& section, std::vector<fleet_field>& all) {
  all.push_back({section, "latency_us", fleet_need::optional,
                 fleet_whole{0, 600'000'000,
                             [](fleet_entry& e, std::uint64_t v) {
                               e.link.latency = std::chrono::microseconds(v);
                             }},
                 "one way, in microseconds; default 200", "2000"});
  all.push_back({section, "mbit_per_s", fleet_need::optional,
                 fleet_real{0.001, 1e7,
                            [](fleet_entry& e, double v) {
                              e.link.bytes_per_second =
                                  static_cast<std::uint64_t>(std::llround(v * 125'000));
                            }},
                 "bandwidth in megabits a second, each direction; default 1000", "100"});
}

void add_peer_fields(std::vector<fleet_field>& all) {
  all.push_back(
      {"peer", "id", fleet_need::required,
       fleet_whole{1, 1U << 30U, [](fleet_entry& e, std::uint64_t v) { e.peer.peer = {v}; }},
       "its number, each once", "1"});
  all.push_back({"peer", "count", fleet_need::optional,
                 fleet_whole{1, 4096,
                             [](fleet_entry& e, std::uint64_t v) {
                               e.count = static_cast<std::uint32_t>(v);
                             }},
                 "so many alike, with ids that follow; default 1", "4"});
  all.push_back({"peer", "name", fleet_need::optional,
                 fleet_name{[](fleet_entry& e, std::string v) { e.peer.name = std::move(v); }},
                 "for people", "\"laptop\""});
  all.push_back({"peer", "workers", fleet_need::optional,
                 fleet_whole{1, 1024,
                             [](fleet_entry& e, std::uint64_t v) {
                               e.peer.workers = static_cast<std::uint32_t>(v);
                             }},
                 "threads that compute; default 1", "4"});
  all.push_back(
      {"peer", "memory_mib", fleet_need::required,
       fleet_whole{1, 1U << 30U,
                   [](fleet_entry& e, std::uint64_t v) { e.peer.memory_offer = {v * mebibyte}; }},
       "the most it may hold, in MiB", "2048"});
  all.push_back(rate_field(work_class::matrix, "gflops",
                           "speed of one worker at matrix products, in 1e9 operations a second",
                           "40.0"));
  all.push_back(rate_field(work_class::convolution, "convolution_gflops",
                           "the same at convolutions; default as gflops", "30.0"));
  all.push_back(rate_field(work_class::depthwise, "depthwise_gflops",
                           "the same at depthwise convolutions; default a quarter of gflops",
                           "8.0"));
  all.push_back(rate_field(work_class::memory, "memory_gb_per_s",
                           "what one worker moves, in 1e9 bytes a second; default 10", "8.0"));
}

struct range_words {
  std::string operator()(const fleet_whole& k) const {
    return fmt::format("a whole number from {} to {}", k.low, k.high);
  }
  std::string operator()(const fleet_real& k) const {
    return fmt::format("a number from {} to {}", k.low, k.high);
  }
  std::string operator()(const fleet_name&) const { return "a text"; }
  std::string operator()(const fleet_peers& k) const {
    return k.count_max == k.count_min
               ? fmt::format("a list of {} ids of peers", k.count_min)
               : fmt::format("a list of {} to {} ids of peers", k.count_min, k.count_max);
  }
};

constexpr const char* head =
    "A fleet file is TOML. It describes peers and links for `perigee plan` and `perigee explain`;\n"
    "nothing of it need exist. What is unknown or out of range is refused with its line and "
    "column.\n";

constexpr const char* example =
    "\nExample\n"
    "  [[peer]]\n"
    "  id = 1\n"
    "  name = \"laptop\"\n"
    "  workers = 4\n"
    "  memory_mib = 4096\n"
    "  gflops = 40\n"
    "\n"
    "  [[peer]]\n"
    "  id = 2\n"
    "  count = 3\n"
    "  name = \"edge box\"\n"
    "  memory_mib = 512\n"
    "  gflops = 6\n"
    "\n"
    "  [links]\n"
    "  mbit_per_s = 100\n"
    "\n"
    "  [[shared]]\n"
    "  peers = [2, 3, 4]\n"
    "  latency_us = 3000\n"
    "  mbit_per_s = 40\n";

}  // namespace

const std::vector<fleet_section>& fleet_sections() {
  static const std::vector<fleet_section> all = {
      {"peer", true, "one table a peer, or a number of peers that are alike"},
      {"links", false, "between any two peers, where nothing else is said; may be left out"},
      {"shared", true, "a medium, e.g. a radio channel: its peers' transfers take turns"},
      {"link", true, "between two peers alone; wins over [[shared]]"}};
  return all;
}

const std::vector<fleet_field>& fleet_fields() {
  static const std::vector<fleet_field> all = [] {
    std::vector<fleet_field> made;
    add_peer_fields(made);
    add_link_fields("links", made);
    made.push_back({"shared", "peers", fleet_need::required, fleet_peers{2, 4096}, "who is on it",
                    "[2, 3, 4]"});
    add_link_fields("shared", made);
    made.push_back(
        {"link", "between", fleet_need::required, fleet_peers{2, 2}, "its two ends", "[1, 2]"});
    add_link_fields("link", made);
    return made;
  }();
  return all;
}

std::string range_of(const fleet_field& f) { return std::visit(range_words{}, f.kind); }

std::string fleet_help() {
  std::string page = head;
  for (const fleet_section& section : fleet_sections()) {
    const std::string name = section.many ? "[[" + section.name + "]]" : "[" + section.name + "]";
    page += fmt::format("\n{}  {}\n", name, section.about);
    for (const fleet_field& f : fleet_fields())
      if (f.section == section.name)
        page += fmt::format("  {:<19} {}; {}\n                      {}, e.g. {}\n", f.name,
                            range_of(f), f.how == fleet_need::required ? "required" : "optional",
                            f.about, f.example);
  }
  return page + example;
}

}  // namespace perigee::actors
