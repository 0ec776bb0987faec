// Reads the source tree and holds the rules of the style page that a program can check.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr std::size_t file_lines_max = 500;
constexpr std::size_t function_lines_max = 60;
constexpr std::size_t shell_lines_max = 150;
constexpr std::size_t columns_max = 100;

struct source {
  std::string path;  // from the root, with forward slashes
  std::vector<std::string> lines;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<source> sources() {
  std::vector<source> found;
  for (const auto* folder : {"proto", "planner", "kernels", "net", "actors", "tests", "examples"}) {
    if (!fs::exists(folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const auto extension = entry.path().extension();
      if (extension != ".cpp" && extension != ".hpp") continue;
      std::ifstream in(entry.path());
      const std::string text{std::istreambuf_iterator<char>(in), {}};
      found.push_back({entry.path().generic_string(), lines_of(text)});
    }
  }
  std::sort(found.begin(), found.end(), [](auto& a, auto& b) { return a.path < b.path; });
  return found;
}

std::string top(const std::string& path) { return path.substr(0, path.find('/')); }

bool starts(const std::string& text, std::string_view with) { return text.rfind(with, 0) == 0; }

/// The folders that each folder may include; in the order proto < planner, kernels < net < actors <
/// examples, tests.
const std::map<std::string, std::vector<std::string>>& allowed_folders() {
  static const std::map<std::string, std::vector<std::string>> table{
      {"proto", {"proto"}},
      {"planner", {"proto", "planner"}},
      {"kernels", {"proto", "kernels"}},
      {"net", {"proto", "planner", "net"}},
      {"actors", {"proto", "planner", "kernels", "net", "actors"}},
      {"tests", {"proto", "planner", "kernels", "net", "actors", "tests"}},
      {"examples", {"proto", "planner", "kernels", "net", "actors", "examples"}},
  };
  return table;
}

/// Third-party headers, and where they may be seen.
const std::vector<std::pair<std::regex, std::vector<std::string>>>& allowed_libraries() {
  static const std::vector<std::pair<std::regex, std::vector<std::string>>> table{
      {std::regex("^<caf/"), {"actors", "tests/actors", "examples"}},
      {std::regex("^<(capnp|kj)/"), {"proto/codec"}},
      {std::regex("^<(dnnl|oneapi|tbb|omp)"), {"kernels", "tests/kernels", "tests/bench"}},
      {std::regex("^<boost/"), {"tests"}},
      {std::regex("^<CLI/"), {"actors/cli"}},
      {std::regex("^<toml"), {"actors/cli"}},
      {std::regex("^<xxhash"), {"proto/digest", "proto/codec"}},
      {std::regex("^<(thread|mutex|chrono|fstream|iostream|filesystem|random|unordered_map|"
                  "unordered_set|future|"
                  "condition_variable)>"),
       {"kernels", "net", "actors", "tests", "examples", "proto/base/units.hpp"}},
  };
  return table;
}

bool under_any(const std::string& path, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](auto& p) { return starts(path, p); });
}

/// Returns what is wrong with an include of a file, or nothing.
std::string include_fault(const std::string& path, const std::string& included) {
  if (starts(included, "\"")) {
    const std::string inside = included.substr(1, included.size() - 2);
    if (inside.find(".capnp.h") != std::string::npos) {
      return starts(path, "proto/codec") ? "" : path + " includes a generated header: " + inside;
    }
    if (starts(inside, "net/sim") && starts(path, "net/") && !starts(path, "net/sim")) {
      return path + " includes the simulator";
    }
    const bool transport = starts(path, "net/") && !starts(path, "net/sim");
    if (transport && starts(inside, "planner/")) return path + " includes " + inside;
    if ((starts(path, "planner/") || starts(path, "kernels/")) && starts(inside, "proto/codec")) {
      return path + " includes the codec";
    }
    const auto& may = allowed_folders().at(top(path));
    if (std::find(may.begin(), may.end(), top(inside)) == may.end())
      return path + " includes " + inside;
    return "";
  }
  for (const auto& [library, where] : allowed_libraries()) {
    if (std::regex_search(included, library) && !under_any(path, where))
      return path + " includes " + included;
  }
  return "";
}

struct banned_word {
  std::regex word;
  std::vector<std::string> where;
  std::string instead;
};

/// Words are written in two parts so that this file does not hold them.
const std::vector<banned_word>& banned_words() {
  const auto word = [](const std::string& a, const std::string& b) {
    return std::regex("\\b" + a + b + "\\b");
  };
  static const std::vector<banned_word> table{
      {word("sleep_", "(for|until)"),
       {"tests", "planner", "proto", "kernels"},
       "wait for a condition"},
      {word("u", "sleep"), {"tests", "planner", "proto", "kernels"}, "wait for a condition"},
      {word("system_", "clock"),
       {"tests", "planner", "proto", "kernels", "net"},
       "take time as an argument"},
      {word("steady_", "clock"),
       {"planner", "proto", "net/sim", "tests/planner", "tests/sim"},
       "take `instant now`"},
      {word("random_", "device"),
       {"planner", "proto", "net/sim", "kernels"},
       "use proto/base/random.hpp"},
      {word("uniform_int_", "distribution"),
       {"planner", "proto", "net", "kernels", "tests"},
       "use random::below"},
      {word("th", "row"), {"planner", "proto/base"}, "return a result"},
      {std::regex("\\b(dou"
                  "ble|flo"
                  "at)\\b"),
       {"planner"},
       "decide in integers"},
      {std::regex("\\bunordered_"
                  "(map|set)\\b"),
       {"planner", "net/sim"},
       "use an ordered container"},
      {std::regex("\\busing "
                  "namespace (?!std::(\\w+::)?\\w*literals|std::chrono;)"),
       {"proto", "planner", "kernels", "net", "actors", "examples"},
       "name what you use; a test may open the one folder that it tests"},
      {std::regex("\\b(TO"
                  "DO|FIX"
                  "ME|XX"
                  "X)\\b"),
       {"proto", "planner", "kernels", "net", "actors", "tests", "examples"},
       "do it, or say what is missing and why it can wait"},
  };
  return table;
}

std::string without_comment(const std::string& line) {
  const auto at = line.find("//");
  return at == std::string::npos ? line : line.substr(0, at);
}

std::size_t columns(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string indentation_of(const std::string& line) {
  return line.substr(0, line.find_first_not_of(' '));
}

/// Returns the line on which the signature that ends on line `i` begins.
std::size_t first_line_of(const source& s, std::size_t i) {
  const auto goes_on = [&s](std::size_t next) {
    static const std::regex open(R"((,|\(|&&|\|\||=)$|^ *for \(.*;$)");
    static const std::regex initialiser(R"(^ *(: |<< ))");
    return std::regex_search(s.lines[next - 1], open) ||
           std::regex_search(s.lines[next], initialiser);
  };
  while (i > 0 && goes_on(i)) --i;
  return i;
}

/// Returns the first line and length of each block that looks like a function's body: it opens
/// after a closing parenthesis and ends at a brace of the same indentation (the formatter
/// guarantees both).
std::vector<std::pair<std::size_t, std::size_t>> functions_of(const source& s) {
  static const std::regex opens(
      R"(^( *)[^ /#].*\)( const)?( noexcept)?( override)?( final)?( -> [^{;]+)? \{$)");
  static const std::regex control(R"(^ *(\} else )?(if|for|while|switch|catch|do)\b)");
  std::vector<std::pair<std::size_t, std::size_t>> found;
  for (std::size_t i = 0; i < s.lines.size(); ++i) {
    std::smatch match;
    if (!std::regex_match(s.lines[i], match, opens) || std::regex_search(s.lines[i], control))
      continue;
    const std::string end = indentation_of(s.lines[first_line_of(s, i)]) + "}";
    std::size_t j = i + 1;
    while (j < s.lines.size() && !starts(s.lines[j], end)) ++j;
    found.emplace_back(i + 1, j - i + 1);
  }
  return found;
}

void expect_none(const std::vector<std::string>& faults) {
  for (const auto& f : faults) BOOST_ERROR(f);
  BOOST_TEST(faults.empty());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tidy)

BOOST_AUTO_TEST_CASE(every_include_points_downwards) {
  static const std::regex include(R"(^\s*#include\s+(\S+))");
  std::vector<std::string> faults;
  for (const auto& s : sources()) {
    for (const auto& line : s.lines) {
      std::smatch match;
      if (!std::regex_search(line, match, include)) continue;
      if (auto fault = include_fault(s.path, match[1].str()); !fault.empty())
        faults.push_back(fault);
    }
  }
  BOOST_TEST(sources().size() > 50);
  expect_none(faults);
}

BOOST_AUTO_TEST_CASE(an_include_that_points_upwards_is_found) {
  BOOST_TEST(include_fault("planner/peer.cpp", "<caf/all.hpp>") ==
             "planner/peer.cpp includes <caf/all.hpp>");
  BOOST_TEST(include_fault("planner/peer.cpp", "\"net/transport.hpp\"") ==
             "planner/peer.cpp includes net/transport.hpp");
  BOOST_TEST(include_fault("kernels/stage.cpp", "\"planner/peer.hpp\"") ==
             "kernels/stage.cpp includes planner/peer.hpp");
  BOOST_TEST(include_fault("net/tcp/link.cpp", "\"planner/event.hpp\"") ==
             "net/tcp/link.cpp includes planner/event.hpp");
  BOOST_TEST(include_fault("planner/peer.cpp", "<thread>") == "planner/peer.cpp includes <thread>");
  BOOST_TEST(include_fault("planner/peer.cpp", "\"proto/plan.hpp\"") == "");
}

BOOST_AUTO_TEST_CASE(no_banned_word_is_used) {
  std::vector<std::string> faults;
  for (const auto& s : sources()) {
    for (const auto& b : banned_words()) {
      if (!under_any(s.path, b.where)) continue;
      for (std::size_t i = 0; i < s.lines.size(); ++i) {
        std::smatch match;
        const std::string code = without_comment(s.lines[i]);
        if (!std::regex_search(code, match, b.word)) continue;
        faults.push_back(s.path + ":" + std::to_string(i + 1) + ": `" + match.str() +
                         "`: " + b.instead);
      }
    }
  }
  expect_none(faults);
}

BOOST_AUTO_TEST_CASE(files_functions_and_lines_are_short) {
  std::vector<std::string> faults;
  for (const auto& s : sources()) {
    if (s.lines.size() > file_lines_max)
      faults.push_back(s.path + " has " + std::to_string(s.lines.size()) + " lines");
    const bool shell = starts(s.path, "actors/") && s.path.find("_actor.cpp") != std::string::npos;
    if (shell && s.lines.size() > shell_lines_max)
      faults.push_back(s.path + " is a shell of too many lines");
    for (std::size_t i = 0; i < s.lines.size(); ++i) {
      if (columns(s.lines[i]) > columns_max)
        faults.push_back(s.path + ":" + std::to_string(i + 1) + " is too wide");
    }
    for (const auto& [line, length] : functions_of(s)) {
      if (length <= function_lines_max) continue;
      faults.push_back(s.path + ":" + std::to_string(line) + " has " + std::to_string(length) +
                       " lines");
    }
  }
  expect_none(faults);
}

BOOST_AUTO_TEST_CASE(a_long_function_is_found) {
  source s{"planner/x.cpp", {"int f(int a) {"}};
  for (int i = 0; i < 70; ++i) s.lines.push_back("  ++a;");
  s.lines.push_back("}");
  const auto found = functions_of(s);
  BOOST_REQUIRE(found.size() == 1);
  BOOST_TEST(found[0].second == 72);
}

BOOST_AUTO_TEST_CASE(every_header_says_what_it_is_and_is_read_once) {
  std::vector<std::string> faults;
  for (const auto& s : sources()) {
    if (!s.path.ends_with(".hpp")) continue;
    if (s.lines.empty() || !starts(s.lines[0], "// "))
      faults.push_back(s.path + " does not begin with a comment");
    if (std::find(s.lines.begin(), s.lines.end(), "#pragma once") == s.lines.end()) {
      faults.push_back(s.path + " lacks #pragma once");
    }
  }
  expect_none(faults);
}

BOOST_AUTO_TEST_CASE(the_build_lists_every_source) {
  std::ifstream in("CMakeLists.txt");
  const std::string build{std::istreambuf_iterator<char>(in), {}};
  std::vector<std::string> faults;
  for (const auto& s : sources()) {
    if (s.path.ends_with(".cpp") && build.find(s.path) == std::string::npos)
      faults.push_back(s.path + " is not built");
  }
  expect_none(faults);
}

BOOST_AUTO_TEST_SUITE_END()
