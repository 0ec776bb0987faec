#include "actors/cli/job_file.hpp"

#include "actors/cli/job_check.hpp"
#include "actors/cli/job_fields.hpp"
#include "actors/cli/nearest.hpp"
#include "actors/cli/text_file.hpp"
#include "actors/cli/toml_scan.hpp"

#include <fmt/core.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <set>

namespace perigee::actors {

namespace {

/// Thrown inside this file only, since what is wrong may lie deep; `job_from` catches it.
struct refused_at {
  toml::source_position where;
  std::string what;
};

[[noreturn]] void refuse(const toml::source_region& where, std::string what) {
  throw refused_at{where.begin, std::move(what)};
}

// ---- names ------------------------------------------------------------------------------------

std::vector<std::string> fields_of(const std::string& section) {
  std::vector<std::string> names;
  for (const field& f : job_fields())
    if (f.section == section) names.push_back(f.name);
  return names;
}

std::vector<std::string> sections() {
  std::vector<std::string> names;
  for (const field& f : job_fields())
    if (!f.section.empty() && (names.empty() || names.back() != f.section))
      names.push_back(f.section);
  return names;
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Returns the end of the line about an unknown field: what was meant, or where it belongs.
std::string hint(const std::string& name, const std::string& section) {
  const auto meant = nearest(name, fields_of(section));
  if (!meant.empty()) return fmt::format("; did you mean '{}'?", meant);
  for (const field& f : job_fields())
    if (f.name == name)
      return f.section.empty() ? "; it belongs at the top, before any section"
                               : fmt::format("; it belongs in [{}]", f.section);
  return "; `perigee help job` lists all";
}

// ---- values -----------------------------------------------------------------------------------

std::string shown(const toml::node& value) {
  if (const auto* v = value.as_integer()) return std::to_string(v->get());
  if (const auto* v = value.as_floating_point()) return fmt::format("{}", v->get());
  if (const auto* v = value.as_boolean()) return v->get() ? "true" : "false";
  if (const auto* v = value.as_string()) return fmt::format("the text \"{}\"", v->get());
  if (value.is_array()) return "a list";
  if (value.is_table()) return "a section";
  return "a date or time";
}

/// Sets one field from its value, or refuses it.
class setter {
public:
  setter(const field& f, const toml::node& value, const job_origin& origin, job_file& job)
      : field_(f), value_(value), origin_(origin), job_(job) {}

  void operator()(const whole& k) {
    const auto* v = value_.as_integer();
    if (v == nullptr || v->get() < 0) refuse_value(value_);
    const auto number = static_cast<std::uint64_t>(v->get());
    if (number < k.low || number > k.high) refuse_value(value_);
    k.set(job_, number);
  }

  void operator()(const real& k) {
    if (!value_.is_number()) refuse_value(value_);
    const auto* whole = value_.as_integer();
    const double number =
        whole != nullptr ? static_cast<double>(whole->get()) : value_.as_floating_point()->get();
    const bool low = k.low_open ? number <= k.low : number < k.low;
    const bool high = k.high_open ? number >= k.high : number > k.high;
    if (!std::isfinite(number) || low || high) refuse_value(value_);
    k.set(job_, number);
    // A share is kept in thousandths: what does not come back was none.
    if (std::abs(k.get(job_) - number) > 1e-9 * std::abs(number))
      refuse(value_.source(),
             fmt::format("field {} must be in steps of 0.001, not {}", name_text(field_), number));
  }

  void operator()(const flag& k) {
    const auto* v = value_.as_boolean();
    if (v == nullptr) refuse_value(value_);
    k.at(job_) = v->get();
  }

  void operator()(const words& k) {
    const auto* v = value_.as_string();
    if (v == nullptr) refuse_value(value_);
    if (k.path && v->get().empty())
      refuse(value_.source(), fmt::format("field {} is empty", name_text(field_)));
    std::string all = v->get();
    if (k.path) all = (std::filesystem::path(origin_.folder) / all).lexically_normal().string();
    if (all.size() > k.letters_max)
      refuse(value_.source(), fmt::format("field {} has {} letters; at most {} are possible",
                                          name_text(field_), all.size(), k.letters_max));
    k.at(job_) = std::move(all);
  }

  void operator()(const choice& k) {
    const auto* v = value_.as_string();
    if (v == nullptr || !contains(k.names, v->get())) refuse_value(value_);
    k.set(job_, static_cast<std::size_t>(std::find(k.names.begin(), k.names.end(), v->get()) -
                                         k.names.begin()));
  }

  void operator()(const counts& k) {
    std::vector<std::uint32_t> all;
    if (const auto* list = value_.as_array())
      for (const toml::node& each : *list) all.push_back(count_in(each, k.high));
    else if (k.single)
      all.push_back(count_in(value_, k.high));
    else
      refuse_value(value_);
    refuse_size(all.size(), k.count_min, k.count_max);
    k.at(job_) = std::move(all);
  }

  void operator()(const peers& k) {
    const auto* list = value_.as_array();
    if (list == nullptr) refuse_value(value_);
    std::vector<peer_id> all;
    for (const toml::node& each : *list) all.push_back(peer_in(each));
    refuse_size(all.size(), 0, k.count_max);
    k.at(job_) = std::move(all);
  }

private:
  [[noreturn]] void refuse_value(const toml::node& value) const {
    refuse(value.source(), fmt::format("field {} must be {}, not {}", name_text(field_),
                                       range_text(field_), shown(value)));
  }

  void refuse_size(std::size_t count, std::size_t low, std::size_t high) const {
    if (count >= low && count <= high) return;
    refuse(value_.source(), fmt::format("field {} must have {} to {} entries, not {}",
                                        name_text(field_), low, high, count));
  }

  std::uint32_t count_in(const toml::node& value, std::uint32_t high) const {
    const auto* v = value.as_integer();
    if (v == nullptr || v->get() < 1 || v->get() > high) refuse_value(value);
    return static_cast<std::uint32_t>(v->get());
  }

  /// Takes 3, "p3" and, of drawn ids, "p" and sixteen hexadecimal digits.
  peer_id peer_in(const toml::node& value) const {
    if (const auto* v = value.as_integer(); v != nullptr && v->get() > 0)
      return {static_cast<std::uint64_t>(v->get())};
    const auto* v = value.as_string();
    if (v == nullptr || v->get().size() < 2 || v->get().front() != 'p') refuse_value(value);
    const std::string_view digits = std::string_view{v->get()}.substr(1);
    peer_id id;
    const auto [end, failure] =
        std::from_chars(digits.begin(), digits.end(), id.value, digits.size() == 16 ? 16 : 10);
    if (failure != std::errc{} || end != digits.end() || id.value == 0) refuse_value(value);
    return id;
  }

  const field& field_;
  const toml::node& value_;
  const job_origin& origin_;
  job_file& job_;
};

// ---- the file ---------------------------------------------------------------------------------

/// A job on its way out of a file, with what is needed to point at places in it.
class reading {
public:
  reading(const toml::table& root, const job_origin& origin) : root_(root), origin_(origin) {}

  job_file job() {
    refuse_unknown();
    for (const field& f : job_fields())
      if (const auto* value = value_of(f)) std::visit(setter{f, *value, origin_, job_}, f.kind);
    const auto* model = root_["model"].as_table();
    if (kind_is_told("model") && model->get("kind") == nullptr)
      job_.spec.model.kind = model_kind::onnx;
    for (const field& f : job_fields()) refuse_unneeded_or_missing(f);
    if (const auto found = misfit_in(job_)) refuse(place_of(*found), found->what);
    return job_;
  }

private:
  /// Returns whether a section says its kind by another field than `kind`.
  bool kind_is_told(const std::string& section) const {
    for (const field& f : job_fields())
      if (f.tells_kind && f.section == section && value_of(f) != nullptr) return true;
    return false;
  }

  const toml::node* value_of(const field& f) const {
    if (f.section.empty()) return root_.get(f.name);
    const auto* section = root_[f.section].as_table();
    return section == nullptr ? nullptr : section->get(f.name);
  }

  void refuse_unknown() const {
    for (const auto& [key, value] : root_) {
      const std::string name{key.str()};
      if (contains(sections(), name)) {
        refuse_unknown_in(name, value);
      } else if (!contains(fields_of(""), name)) {
        const auto meant = nearest(name, sections());
        if (value.is_table() && !meant.empty())
          refuse(key.source(),
                 fmt::format("unknown section [{}]; did you mean [{}]?", name, meant));
        refuse(key.source(),
               value.is_table()
                   ? fmt::format("unknown section [{}]; `perigee help job` lists all", name)
                   : fmt::format("unknown field '{}'{}", name, hint(name, "")));
      }
    }
  }

  static void refuse_unknown_in(const std::string& section, const toml::node& value) {
    const auto* table = value.as_table();
    if (table == nullptr)
      refuse(value.source(),
             fmt::format("'{}' is a section: write [{}] and its fields below", section, section));
    for (const auto& [key, unused] : *table)
      if (const std::string name{key.str()}; !contains(fields_of(section), name))
        refuse(key.source(),
               fmt::format("unknown field '{}' in [{}]{}", name, section, hint(name, section)));
  }

  void refuse_unneeded_or_missing(const field& f) const {
    const auto* value = value_of(f);
    const bool used = is_used(f, job_);
    if (value != nullptr && !used)
      refuse(value->source(),
             fmt::format("field {} is of no use to {}", name_text(f), kind_in(f.section, job_)));
    const bool told = f.name == "kind" && kind_is_told(f.section);
    const bool spared = contains(f.optional_for, kind_in(f.section, job_));
    if (value == nullptr && used && !told && !spared && f.how == need::required)
      refuse(start_of(f.section), fmt::format("missing field {}; for example: {} = {}",
                                              name_text(f), f.name, f.example));
  }

  /// Returns where a section begins, or the file if it has no such section.
  toml::source_region start_of(const std::string& section) const {
    const auto* table = section.empty() ? &root_ : root_[section].as_table();
    auto where = table == nullptr ? root_.source() : table->source();
    if (where.begin.line == 0) where.begin = {1, 1};
    return where;
  }

  /// Returns the field that a misfit names, or its section if the field is not there.
  toml::source_region place_of(const misfit& found) const {
    const auto* table = found.section.empty() ? &root_ : root_[found.section].as_table();
    const auto* value = table == nullptr ? nullptr : table->get(found.name);
    return value == nullptr ? start_of(found.section) : value->source();
  }

  const toml::table& root_;
  const job_origin& origin_;
  job_file job_;
};

error malformed(const job_origin& origin, const toml::source_position& at, std::string_view what) {
  return {errc::malformed, fmt::format("{}:{}:{}: {}", origin.file, at.line, at.column, what)};
}

}  // namespace

result<job_file> job_from(std::string_view toml, const job_origin& origin) {
  if (const auto stray = stray_letter(toml))
    return malformed(
        origin, {stray->line, stray->column},
        "a letter beyond ASCII outside quotes; texts stand in straight ones, \"like this\"");
  try {
    const toml::table root = toml::parse(toml, origin.file);
    return reading(root, origin).job();
  } catch (const toml::parse_error& why) {
    std::string what{why.description()};
    if (!what.empty() && what.front() >= 'A' && what.front() <= 'Z')
      what.front() = static_cast<char>(what.front() - 'A' + 'a');
    return malformed(origin, why.source().begin, what);
  } catch (const refused_at& why) { return malformed(origin, why.where, why.what); }
}

result<job_file> read_job(const std::string& path) {
  const auto all = read_text_file(path, "job file");
  if (!all) return all.why();
  return job_from(*all, {path, std::filesystem::path(path).parent_path().string()});
}

}  // namespace perigee::actors
