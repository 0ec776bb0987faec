#include "actors/cli/peers_file.hpp"

#include "actors/cli/toml_scan.hpp"

#include <fmt/core.h>
#include <toml++/toml.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace perigee::actors {

namespace {

error wrong(const std::string& path, const toml::source_region& at, const std::string& what) {
  return {errc::malformed, fmt::format("{}:{}:{}: {}", path, at.begin.line, at.begin.column, what)};
}

bool known_field(std::string_view name) {
  return name == "id" || name == "name" || name == "address";
}

result<peer_record> peer_in(const std::string& path, const toml::node& node) {
  const auto* table = node.as_table();
  if (table == nullptr) return wrong(path, node.source(), "a peer is a [[peer]] table");
  for (const auto& [key, value] : *table) {
    if (!known_field(key.str())) {
      return wrong(
          path, key.source(),
          fmt::format("unknown field '{}' of a peer; it has id, name and address", key.str()));
    }
  }
  const auto id = (*table)["id"].value<std::int64_t>();
  const auto address = (*table)["address"].value<std::string>();
  if (!id || *id <= 0)
    return wrong(path, node.source(), "a peer needs `id`, a whole number from 1");
  if (!address || address->rfind(':') == std::string::npos) {
    return wrong(path, node.source(), "a peer needs `address`, e.g. \"127.0.0.1:7001\"");
  }
  peer_record made;
  made.peer.value = static_cast<std::uint64_t>(*id);
  made.address = *address;
  made.name = (*table)["name"].value_or(text(made.peer));
  return made;
}

}  // namespace

result<std::vector<peer_record>> read_peers(const std::string& path) {
  std::ifstream in(path);
  if (!in) return error{errc::io, "cannot read the peers file " + path};
  const std::string file{std::istreambuf_iterator<char>(in), {}};
  if (const auto stray = stray_letter(file)) {
    return error{errc::malformed, fmt::format("{}:{}:{}: a letter beyond ASCII outside quotes",
                                              path, stray->line, stray->column)};
  }
  toml::table parsed;
  try {
    parsed = toml::parse(file, path);
  } catch (const toml::parse_error& e) {
    return wrong(path, e.source(), std::string(e.description()));
  }
  const auto* list = parsed["peer"].as_array();
  if (list == nullptr || list->empty()) {
    return error{errc::malformed,
                 path + ": no [[peer]] in it; each peer needs one with id and address"};
  }
  std::vector<peer_record> peers;
  for (const auto& node : *list) {
    auto made = peer_in(path, node);
    if (!made) return made.why();
    const bool twice = std::any_of(peers.begin(), peers.end(), [&](const peer_record& other) {
      return other.peer == made->peer || other.address == made->address;
    });
    if (twice) return wrong(path, node.source(), "id and address of each peer must be its own");
    peers.push_back(std::move(*made));
  }
  return peers;
}

std::string peers_text(const std::vector<peer_record>& peers) {
  std::string out;
  for (const auto& p : peers) {
    out += fmt::format("[[peer]]\nid = {}\nname = \"{}\"\naddress = \"{}\"\n\n", p.peer.value,
                       p.name, p.address);
  }
  return out;
}

}  // namespace perigee::actors
