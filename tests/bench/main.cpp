// perigee_bench [NAME…] [--json]: measures the named groups of figures, or all.
//
// Exit codes: 0 measured (whether or not a target is met: the lines say so), 1 something could not
// be measured, 2 no such group or option.
#include "tests/bench/groups.hpp"
#include "tests/bench/lines.hpp"
#include "tests/bench/transport_bench.hpp"

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace perigee::bench {

namespace {

struct group {
  std::string_view name;
  result<void> (*measure)(const teller&);
};

result<void> transport_group(const teller& tell) {
  std::vector<figure> figures;
  transport_bench(figures);
  for (const figure& f : figures) tell(f);
  return {};
}

/// In the order in which they run: the transport's forks and so comes before any thread is there;
/// the start-up's creates the first primitives of this process.
constexpr group groups[] = {
    {"transport", transport_group}, {"startup", startup_bench}, {"steps", steps_bench},
    {"simulator", simulator_bench}, {"planner", planner_bench}, {"learning", learning_bench},
};

std::string group_names() {
  std::string names;
  for (const group& g : groups) names += (names.empty() ? "" : ", ") + std::string(g.name);
  return names;
}

int usage(std::FILE* out, int code) {
  std::fprintf(out,
               "usage: perigee_bench [NAME...] [--json]\n"
               "NAME is one of %s; without one, all are measured.\n"
               "Each figure is a line: name, value, unit, target, and whether it is met.\n",
               group_names().c_str());
  return code;
}

int measure_all(const std::set<std::string_view>& wanted, const teller& tell) {
  int code = 0;
  for (const group& g : groups) {
    if (!wanted.empty() && !wanted.contains(g.name)) continue;
    const auto done = g.measure(tell);
    if (done) continue;
    std::fprintf(stderr, "%s: not measured: %s\n", std::string(g.name).c_str(),
                 done.why().what.c_str());
    code = 1;
  }
  return code;
}

int run(const std::vector<std::string_view>& arguments) {
  bool json = false;
  std::set<std::string_view> wanted;
  for (const std::string_view a : arguments) {
    if (a == "--help") return usage(stdout, 0);
    const bool known = std::any_of(std::begin(groups), std::end(groups),
                                   [&](const group& g) { return g.name == a; });
    if (a == "--json") {
      json = true;
    } else if (known) {
      wanted.insert(a);
    } else {
      std::fprintf(stderr, "perigee_bench: no group `%s`\n", std::string(a).c_str());
      return usage(stderr, 2);
    }
  }
  return measure_all(wanted, [json](const figure& f) {
    std::printf("%s\n", (json ? json_line_of(f) : line_of(f)).c_str());
    std::fflush(stdout);
  });
}

}  // namespace

}  // namespace perigee::bench

int main(int count, char** values) { return perigee::bench::run({values + 1, values + count}); }
