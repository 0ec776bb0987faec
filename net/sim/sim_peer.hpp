// One simulated peer: the shell around planner::peer that turns its actions into timed events.
//
// The same few lines as the real shell: translate, step, drain, re-arm. Computing is done at once
// and answered when its modelled time is over.
//
// Threads  none; its world owns and drives it.
#pragma once

#include "net/sim/event_queue.hpp"
#include "net/sim/invariants.hpp"
#include "net/sim/sim_transport.hpp"
#include "net/sim/trace.hpp"
#include "planner/peer.hpp"
#include "proto/executor.hpp"

#include <functional>
#include <map>
#include <memory>

namespace perigee::net {

using executor_factory =
    std::function<result<std::unique_ptr<executor>>(const specification&, const plan&, peer_id)>;
using profiler = std::function<result<model_profile>(const specification&)>;

/// Kinds of timed events above the network's.
namespace world_kind {
inline constexpr std::uint32_t answer = sim_network::kinds;
inline constexpr std::uint32_t wake = answer + 1;
inline constexpr std::uint32_t fault = answer + 2;
}  // namespace world_kind

/// What all peers of a world share. The world outlives its peers.
struct surroundings {
  event_queue queue;
  sim_network network{queue};
  trace events;
  executor_factory executors;
  profiler profiles;
  std::uint64_t seed = 0;
  std::uint32_t jitter_permille = 0;  // a task takes up to so much longer, by chance
  /// One plan's rules, whoever computes.
  std::map<std::pair<job_id, std::uint64_t>, invariants> rules;
  std::function<void(peer_id, const progress&)> on_progress;

  /// Prints the seed and what is wrong, and ends the program: a bug of ours.
  [[noreturn]] void violated(const std::string& what) const;
};

class sim_peer final : public owner {
public:
  /// `self` as it will be told after calibration; `actual` = what a worker really does.
  sim_peer(surroundings& around, peer_record self, speed actual, std::vector<peer_record> members);

  [[nodiscard]] std::uint32_t position() const noexcept { return position_; }
  [[nodiscard]] const peer_record& self() const noexcept { return self_; }
  [[nodiscard]] const planner::peer& machine() const noexcept { return machine_; }
  [[nodiscard]] bool left() const noexcept { return left_; }

  void calibrate(instant at);
  /// `e` happens to it at `at`.
  void later(instant at, planner::event e);
  /// From now on its tasks take `permille` / 1000 of their time.
  void slow(std::uint32_t permille) noexcept { slowness_permille_ = permille; }

  /// Takes an event of the queue that is for this peer: an answer or a wake.
  void handle(const timed& what);

  void on_linked(peer_id who, link_role role) override;
  void on_unlinked(peer_id who, const error& why) override;
  void on_heard(peer_id who) override;
  void on_message(peer_id from, message what) override;
  std::span<std::byte> room_for(peer_id from, const tensor_label& label) override;
  void on_arrived(peer_id from, const tensor_label& label) override;
  void on_transmitted(peer_id to, const tensor_label& label, bool delivered) override;

private:
  /// What stands for one plan of a job. Kept while a tensor of it is leaving.
  struct part {
    job_id job;
    std::uint64_t epoch = 0;
    std::uint64_t digest = 0;
    std::unique_ptr<executor> runs;
    std::uint32_t leaving = 0;
    bool discarded = false;
    invariants* rules = nullptr;
    const model_profile* model = nullptr;
    duration forward{};  // of one micro-batch
    duration backward{};
  };

  void step(const planner::event& e);
  void arm();
  void act(planner::action& a);
  void act(planner::send& a);
  void act(const planner::transmit& a);
  void act(const planner::profile& a);
  void act(const planner::prepare& a);
  void act(const planner::compute& a);
  void act(const planner::discard& a);
  void act(const planner::disconnect& a);
  void act(const planner::announce& a);
  void act(const planner::note& a);
  void act(const planner::leave& a);

  [[nodiscard]] result<void> build(const proposal& what);
  [[nodiscard]] duration time_of(const part& p, const task& what);
  [[nodiscard]] part* part_of(job_id which, std::uint64_t plan_digest);
  void let_go(job_id which, std::uint64_t plan_digest, const tensor_ref& what);

  surroundings& around_;
  peer_record self_;
  speed actual_;
  std::uint32_t position_;
  planner::peer machine_;
  planner::outbox out_;
  instant wake_at_ = never;
  bool left_ = false;
  std::uint32_t slowness_permille_ = 1000;
  std::uint64_t drawn_ = 0;  // random numbers so far
  std::map<job_id, job_record> jobs_;
  std::map<job_id, model_profile> models_;
  std::vector<part> parts_;
  std::vector<planner::event> answers_;
  std::vector<std::uint64_t> free_answers_;
};

}  // namespace perigee::net
