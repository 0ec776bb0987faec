#include "actors/cli/fleet_file.hpp"

#include "actors/cli/fleet_fields.hpp"
#include "actors/cli/nearest.hpp"
#include "actors/cli/text_file.hpp"
#include "actors/cli/toml_scan.hpp"

#include <fmt/core.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace perigee::actors {

namespace {

constexpr std::size_t peers_max = 4096;

/// Thrown inside this file only, since what is wrong may lie deep; `fleet_from` catches it.
struct refused_at {
  toml::source_position where;
  std::string what;
};

[[noreturn]] void refuse(const toml::source_region& where, std::string what) {
  throw refused_at{where.begin.line == 0 ? toml::source_position{1, 1} : where.begin,
                   std::move(what)};
}

std::string shown_name(const fleet_section& s) {
  return s.many ? "[[" + s.name + "]]" : "[" + s.name + "]";
}

/// Sets one field of an entry from its value, or refuses it.
class setter {
public:
  setter(const fleet_field& f, const toml::node& value, fleet_entry& entry)
      : field_(f), value_(value), entry_(entry) {}

  void operator()(const fleet_whole& k) {
    const auto* v = value_.as_integer();
    if (v == nullptr || v->get() < 0) refuse_value(value_);
    const auto number = static_cast<std::uint64_t>(v->get());
    if (number < k.low || number > k.high) refuse_value(value_);
    k.set(entry_, number);
  }

  void operator()(const fleet_real& k) {
    if (!value_.is_number()) refuse_value(value_);
    const auto* whole = value_.as_integer();
    const double number =
        whole != nullptr ? static_cast<double>(whole->get()) : value_.as_floating_point()->get();
    if (!(number >= k.low && number <= k.high)) refuse_value(value_);
    k.set(entry_, number);
  }

  void operator()(const fleet_name& k) {
    const auto* v = value_.as_string();
    if (v == nullptr || v->get().size() > 256) refuse_value(value_);
    k.set(entry_, v->get());
  }

  void operator()(const fleet_peers& k) {
    const auto* list = value_.as_array();
    if (list == nullptr || list->size() < k.count_min || list->size() > k.count_max)
      refuse_value(value_);
    for (const toml::node& each : *list) {
      const auto* v = each.as_integer();
      if (v == nullptr || v->get() < 1) refuse_value(each);
      const peer_id id{static_cast<std::uint64_t>(v->get())};
      if (std::find(entry_.peers.begin(), entry_.peers.end(), id) != entry_.peers.end())
        refuse(each.source(), fmt::format("'{}' names peer {} twice", field_.name, v->get()));
      entry_.peers.push_back(id);
    }
  }

private:
  [[noreturn]] void refuse_value(const toml::node& value) const {
    refuse(value.source(), fmt::format("field '{}' of [[{}]] must be {}", field_.name,
                                       field_.section, range_of(field_)));
  }

  const fleet_field& field_;
  const toml::node& value_;
  fleet_entry& entry_;
};

class reading {
public:
  explicit reading(const toml::table& root) : root_(root) {}

  planner::fleet_description fleet() {
    refuse_unknown_sections();
    for (const fleet_section& s : fleet_sections())
      if (const auto* value = root_.get(s.name)) take_section(s, *value);
    if (fleet_.peers.empty())
      refuse(root_.source(), "no [[peer]] in it; `perigee help fleet` has an example");
    refuse_strangers();
    return std::move(fleet_);
  }

private:
  void refuse_unknown_sections() const {
    std::vector<std::string> names;
    for (const fleet_section& s : fleet_sections()) names.push_back(s.name);
    for (const auto& [key, value] : root_) {
      const std::string name{key.str()};
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      const auto meant = nearest(name, names);
      refuse(key.source(), fmt::format("unknown section '{}'{}", name,
                                       meant.empty() ? "; `perigee help fleet` lists all"
                                                     : "; did you mean '" + meant + "'?"));
    }
  }

  void take_section(const fleet_section& s, const toml::node& value) {
    if (!s.many) {
      const auto* table = value.as_table();
      if (table == nullptr) refuse(value.source(), fmt::format("write [{}] once", s.name));
      fleet_.usual = entry_in(s, *table).link;
      return;
    }
    const auto* list = value.as_array();
    if (list == nullptr) refuse(value.source(), fmt::format("write [[{}]], for each one", s.name));
    for (const toml::node& each : *list) {
      const auto* table = each.as_table();
      if (table == nullptr) refuse(each.source(), fmt::format("write [[{}]], for each", s.name));
      add(s, entry_in(s, *table), table->source());
    }
  }

  static fleet_entry entry_in(const fleet_section& s, const toml::table& table) {
    fleet_entry entry;
    std::vector<std::string> names;
    for (const fleet_field& f : fleet_fields())
      if (f.section == s.name) names.push_back(f.name);
    for (const auto& [key, unused] : table) {
      const std::string name{key.str()};
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      const auto meant = nearest(name, names);
      refuse(key.source(), fmt::format("unknown field '{}' of {}{}", name, shown_name(s),
                                       meant.empty() ? "; `perigee help fleet` lists all"
                                                     : "; did you mean '" + meant + "'?"));
    }
    for (const fleet_field& f : fleet_fields()) {
      if (f.section != s.name) continue;
      if (const auto* value = table.get(f.name)) {
        std::visit(setter{f, *value, entry}, f.kind);
      } else if (f.how == fleet_need::required) {
        refuse(table.source(), fmt::format("missing field '{}' of {}; for example: {} = {}", f.name,
                                           shown_name(s), f.name, f.example));
      }
    }
    return entry;
  }

  void add(const fleet_section& s, fleet_entry entry, const toml::source_region& where) {
    if (s.name == "peer") {
      add_peers(entry, where);
    } else if (s.name == "shared") {
      fleet_.shared.push_back({entry.peers, entry.link});
      named_.emplace_back(std::move(entry.peers), where);
    } else {
      fleet_.pairs.push_back({entry.peers[0], entry.peers[1], entry.link});
      named_.emplace_back(std::move(entry.peers), where);
    }
  }

  void add_peers(const fleet_entry& entry, const toml::source_region& where) {
    peer_record record = entry.peer;
    speed& rate = record.rate;
    if (rate[1] == 0) rate[1] = rate[0];
    if (rate[2] == 0) rate[2] = std::max<std::uint64_t>(rate[0] / 4, 1);
    if (rate[3] == 0) rate[3] = 10'000'000'000;
    for (std::uint32_t i = 0; i < entry.count; ++i) {
      if (!ids_.insert(record.peer).second)
        refuse(where, fmt::format("id {} is taken twice", record.peer.value));
      if (ids_.size() > peers_max) refuse(where, fmt::format("more than {} peers", peers_max));
      fleet_.peers.push_back(record);
      ++record.peer.value;
    }
  }

  void refuse_strangers() const {
    for (const auto& [peers, where] : named_)
      for (const peer_id id : peers)
        if (!ids_.contains(id)) refuse(where, fmt::format("there is no peer {}", id.value));
  }

  const toml::table& root_;
  planner::fleet_description fleet_;
  std::set<peer_id> ids_;
  std::vector<std::pair<std::vector<peer_id>, toml::source_region>> named_;
};

error malformed(const std::string& file, const toml::source_position& at, std::string_view what) {
  return {errc::malformed, fmt::format("{}:{}:{}: {}", file, at.line, at.column, what)};
}

}  // namespace

result<planner::fleet_description> fleet_from(std::string_view toml, const std::string& file) {
  if (const auto stray = stray_letter(toml))
    return malformed(file, {stray->line, stray->column}, "a letter beyond ASCII outside quotes");
  try {
    const toml::table root = toml::parse(toml, file);
    return reading(root).fleet();
  } catch (const toml::parse_error& why) {
    return malformed(file, why.source().begin, why.description());
  } catch (const refused_at& why) { return malformed(file, why.where, why.what); }
}

result<planner::fleet_description> read_fleet(const std::string& path) {
  const auto all = read_text_file(path, "fleet file");
  if (!all) return all.why();
  return fleet_from(*all, path);
}

}  // namespace perigee::actors
