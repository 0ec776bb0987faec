// The static list of a swarm's peers: a TOML file with one [[peer]] a peer.
//
//   [[peer]]
//   id = 1
//   name = "p1"                  # optional
//   address = "127.0.0.1:7001"
#pragma once

#include "proto/base/result.hpp"
#include "proto/message.hpp"

#include <string>
#include <vector>

namespace perigee::actors {

/// Fails with `malformed`, naming file, line and column, or `io`.
result<std::vector<peer_record>> read_peers(const std::string& path);

/// Returns the file's text for these peers.
std::string peers_text(const std::vector<peer_record>& peers);

}  // namespace perigee::actors
