// The fields of a fleet file: what each is called, may be, means and sets.
#pragma once

#include "planner/plan/fleet.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <variant>
#include <vector>

namespace perigee::actors {

/// One table of the file on its way to peers and links.
struct fleet_entry {
  peer_record peer;
  std::uint32_t count = 1;  // peers alike, with ids that follow
  std::vector<peer_id> peers;
  planner::link_estimate link;
};

struct fleet_whole {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::function<void(fleet_entry&, std::uint64_t)> set;
};
struct fleet_real {
  double low = 0;
  double high = 0;
  std::function<void(fleet_entry&, double)> set;
};
struct fleet_name {
  std::function<void(fleet_entry&, std::string)> set;
};
/// Ids of peers.
struct fleet_peers {
  std::size_t count_min = 0;
  std::size_t count_max = 0;
};

using fleet_kind = std::variant<fleet_whole, fleet_real, fleet_name, fleet_peers>;

enum class fleet_need : std::uint8_t { optional, required };

struct fleet_field {
  std::string section;
  std::string name;
  fleet_need how = fleet_need::optional;
  fleet_kind kind;
  std::string about;    // one line, with its default
  std::string example;  // a value, as TOML
};

struct fleet_section {
  std::string name;
  bool many = false;  // [[name]]
  std::string about;
};

[[nodiscard]] const std::vector<fleet_section>& fleet_sections();
[[nodiscard]] const std::vector<fleet_field>& fleet_fields();

/// Returns what a field may be, e.g. `a whole number from 1 to 4096`.
[[nodiscard]] std::string range_of(const fleet_field& f);

}  // namespace perigee::actors
