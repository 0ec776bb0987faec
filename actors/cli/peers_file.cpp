#include "actors/cli/peers_file.hpp"

#include "actors/cli/text_file.hpp"
#include "actors/cli/toml_scan.hpp"

#include <fmt/core.h>
#include <toml++/toml.h>

#include <algorithm>

namespace perigee::actors {

namespace {

error wrong(const std::string& path, const toml::source_region& at, const std::string& what) {
  return {errc::malformed, fmt::format("{}:{}:{}: {}", path, at.begin.line, at.begin.column, what)};
}

constexpr std::size_t name_max = 256;

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
  const auto id = (*table)["id"].value_exact<std::int64_t>();
  const auto address = (*table)["address"].value_exact<std::string>();
  if (!id || *id <= 0)
    return wrong(path, node.source(), "a peer needs `id`, a whole number from 1");
  if (!address || address->rfind(':') == std::string::npos) {
    return wrong(path, node.source(), "a peer needs `address`, e.g. \"127.0.0.1:7001\"");
  }
  peer_record made;
  made.peer.value = static_cast<std::uint64_t>(*id);
  made.address = *address;
  made.name = text(made.peer);
  if (const auto* named = table->get("name")) {
    const auto* name = named->as_string();
    if (name == nullptr || name->get().empty() || name->get().size() > name_max)
      return wrong(path, named->source(),
                   fmt::format("the name of a peer is a text of 1 to {} letters", name_max));
    made.name = name->get();
  }
  return made;
}

}  // namespace

result<std::vector<peer_record>> read_peers(const std::string& path) {
  const auto file = read_text_file(path, "peers file");
  if (!file) return file.why();
  if (const auto stray = stray_letter(*file)) {
    return error{errc::malformed, fmt::format("{}:{}:{}: a letter beyond ASCII outside quotes",
                                              path, stray->line, stray->column)};
  }
  toml::table parsed;
  try {
    parsed = toml::parse(*file, path);
  } catch (const toml::parse_error& e) {
    return wrong(path, e.source(), std::string(e.description()));
  }
  for (const auto& [key, value] : parsed) {
    if (key.str() != "peer")
      return wrong(path, key.source(),
                   fmt::format("unknown field '{}'; a peers file has [[peer]] alone", key.str()));
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
