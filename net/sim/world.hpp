// A swarm in virtual time: N planner::peer, links between all of them, and faults.
//
// The machines are the very ones that real peers run. Computing takes what the cost model says of
// each peer's actual speed, links what their latency and bandwidth say; the executors and the
// profiler are arguments, so that value hashes (value_executor.hpp) or real kernels compute.
//
// Guarantees  one seed, one course of events, to the bit. After each task the rules of
//             invariants.hpp hold and no peer has prepared more than it offers; else the seed is
//             printed and the program ends.
// Threads     none; one owner.
#pragma once

#include "net/sim/sim_peer.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace perigee::net {

struct simulated_peer {
  peer_record self;        // its rate and fingerprint are told when it is calibrated
  speed actual{};          // what a worker really does
  duration calibration{};  // takes so long
};

struct world_config {
  std::uint64_t seed = 1;
  std::vector<simulated_peer> peers;
  /// The link between the peers at two positions; empty = the default character.
  std::function<link_character(std::uint32_t, std::uint32_t)> links;
  std::uint32_t jitter_permille = 0;  // a task takes up to so much longer, by chance
  recording how = recording::hash_only;
};

class world {
public:
  world(world_config config, executor_factory executors, profiler profiles);
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  void submit(peer_id through, const job_record& what, instant at);
  /// Its process ends at `at` without a word.
  void kill(peer_id who, instant at);
  /// Nothing happens to it between `at` and `until`; then everything that came meanwhile.
  void freeze(peer_id who, instant at, instant until);
  /// From `at` its tasks take `permille` / 1000 of their time.
  void slow(peer_id who, instant at, std::uint32_t permille);

  /// Lets the next event happen; returns whether there was one.
  bool advance();
  /// Runs until `done` or `end`; returns whether it was done. `done` is asked after each news.
  bool run(const std::function<bool()>& done, instant end);

  [[nodiscard]] instant now() const noexcept { return around_.queue.now(); }
  [[nodiscard]] std::uint64_t events() const noexcept { return around_.queue.popped(); }
  [[nodiscard]] std::uint64_t messages() const noexcept { return around_.network.messages(); }
  [[nodiscard]] std::uint64_t tensors() const noexcept { return around_.network.tensors(); }
  [[nodiscard]] const trace& course() const noexcept { return around_.events; }
  [[nodiscard]] std::size_t size() const noexcept { return peers_.size(); }
  [[nodiscard]] bool alive(std::size_t position) const { return alive_[position]; }
  [[nodiscard]] bool anybody() const {
    return std::find(alive_.begin(), alive_.end(), true) != alive_.end();
  }
  [[nodiscard]] const sim_peer& peer(std::size_t position) const { return *peers_[position]; }
  /// Returns the newest progress of any job that a peer announced.
  [[nodiscard]] const std::optional<progress>& news(std::size_t position) const {
    return news_[position];
  }

private:
  struct fault_plan {
    enum class what : std::uint8_t { kill, freeze, slow } how{};
    instant until{};
    std::uint32_t permille = 1000;
  };

  [[nodiscard]] std::uint32_t position_of(peer_id who) const;
  void plan_fault(peer_id who, instant at, const fault_plan& f);
  void suffer(std::uint32_t position, const fault_plan& f);

  surroundings around_;
  std::vector<std::unique_ptr<sim_peer>> peers_;
  std::vector<bool> alive_;
  std::vector<instant> frozen_until_;
  std::vector<std::optional<progress>> news_;
  bool news_came_ = false;
  std::vector<fault_plan> faults_;
};

}  // namespace perigee::net
