// The fields of a job file: what each is called, may be, means and sets.
//
// Requires  a new field of `specification` or `wishes` that people may set gets its line here; all
//           else follows.
#pragma once

#include "actors/cli/job_file.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <variant>
#include <vector>

namespace perigee::actors {

// ---- what a field may be: its bounds, and how it is set and asked -----------------------------

struct whole {
  std::uint64_t low = 0;
  std::uint64_t high = std::numeric_limits<std::int64_t>::max();  // what TOML can say
  std::function<void(job_file&, std::uint64_t)> set;
  std::function<std::uint64_t(const job_file&)> get;
};

struct real {
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;   // `low` itself is out
  bool high_open = false;  // `high` itself is out
  std::function<void(job_file&, double)> set;
  std::function<double(const job_file&)> get;
};

struct flag {
  std::function<bool&(job_file&)> at;
};

/// Any text for people or programs; `path` ones are resolved against the file's folder.
struct words {
  std::size_t letters_max = 0;
  bool path = false;
  std::function<std::string&(job_file&)> at;
};

struct choice {
  std::vector<std::string> names;
  std::function<void(job_file&, std::size_t)> set;
  std::function<std::string(const job_file&)> get;
};

struct counts {
  std::uint32_t high = 0;  // each is from 1 to `high`
  std::size_t count_min = 0;
  std::size_t count_max = 0;
  bool single = false;  // one number may stand for a list of one
  std::function<std::vector<std::uint32_t>&(job_file&)> at;
};

struct peers {
  std::size_t count_max = 0;
  std::function<std::vector<peer_id>&(job_file&)> at;
};

using field_kind = std::variant<whole, real, flag, words, choice, counts, peers>;

enum class need : std::uint8_t { optional, required };

struct field {
  std::string section;  // empty = the top of the file
  std::string name;
  need how = need::optional;
  field_kind kind;
  std::string about;                        // one line
  std::string example;                      // a value, as TOML
  std::vector<std::string> for_kinds;       // kinds of its section that use it; empty = all
  std::vector<std::string> optional_for{};  // kinds that need not have it though it is required
  bool tells_kind = false;  // says by itself of what kind its section is: the one it is for
};

/// Returns all fields, section by section, in the order of the help page.
[[nodiscard]] const std::vector<field>& job_fields();

/// Returns what a field may be, e.g. `a whole number from 1 to 65536`.
[[nodiscard]] std::string range_text(const field& f);

/// Returns `'width' in [model]`, or `'seed'` at the top.
[[nodiscard]] std::string name_text(const field& f);

/// Returns the kind that a job has in a section, or nothing if the section has none.
[[nodiscard]] std::string kind_in(const std::string& section, const job_file& job);

/// Returns whether a field means something to a job, whose kinds are known.
[[nodiscard]] bool is_used(const field& f, const job_file& job);

}  // namespace perigee::actors
