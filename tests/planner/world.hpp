// A small swarm in memory: planner::peer machines that step each other's messages, with executors
// that compute values which depend on every order of addition.
//
// What is under way is delivered in a random order drawn from a seed: messages of one link in
// order, tensors and computations in any. When nothing is under way, time goes to the next
// deadline.
//
// Guarantees  the same seed gives the same run.
#pragma once

#include "planner/peer.hpp"
#include "proto/base/random.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace perigee::planner::testing {

using namespace std::chrono_literals;

/// A chain of `layers` layers with a mini-batch of `micro_batches` in slices of `slice_size`.
[[nodiscard]] model_profile chain(std::uint32_t layers, std::uint32_t micro_batches,
                                  std::uint32_t slice_size);

[[nodiscard]] peer_record record_of(std::uint64_t id, std::uint32_t workers = 1,
                                    bytes offer = {1U << 30U});

[[nodiscard]] job_record job_of(std::uint64_t number, std::uint64_t steps, const wishes& wanted);

/// Where a value stops being finite, if it is to.
struct fault {
  std::uint64_t step = 0;
  std::uint32_t micro_batch = 0;
  std::uint32_t layer = 0;
};

/// What an executor would compute, layer by layer: the plan must not show in it.
class value_executor {
public:
  value_executor(const plan& p, peer_id self, const model_profile& model);

  outcome run(const task& what, const std::optional<fault>& bad);
  void put(const tensor_ref& what, std::uint64_t value);
  [[nodiscard]] std::uint64_t get(const tensor_ref& what) const;

  std::map<std::string, std::uint32_t> runs;  // how often each task ran

private:
  outcome forward(const task& t, const std::optional<fault>& bad);
  void backward(const task& t);
  void fold(const task& t);

  plan plan_;
  place where_;
  model_profile model_;
  std::map<std::uint32_t, std::uint64_t> states_;                            // by layer
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> inputs_;  // layer, micro-batch
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> slices_;  // layer, slice
  std::map<tensor_ref, std::uint64_t> tensors_;
};

class world {
public:
  world(std::uint64_t seed, model_profile model, std::vector<peer_record> peers);

  void calibrate_and_link();
  void link(std::uint64_t a, std::uint64_t b);
  void cut(std::uint64_t a, std::uint64_t b, const error& why);
  /// A peer dies: its links break and nothing more comes of it.
  void kill(std::uint64_t who);
  /// Nothing comes from a peer any more, though its links stand.
  void mute_links(std::uint64_t who);
  void give(std::uint64_t to, const event& e);
  /// A client of peer `at` says something; its id is 1000 + at.
  void ask(std::uint64_t at, const message& what);

  /// Goes on until `done` holds or `events_max` events have been; returns whether it holds.
  bool run(const std::function<bool()>& done, std::size_t events_max = 400'000);
  /// Goes on until virtual time `at`.
  void run_until(instant at);
  bool run_to_end(std::uint64_t watched, job_id which);

  [[nodiscard]] std::optional<progress> progress_of(std::uint64_t peer, job_id which) const;
  /// Returns the value of each layer's state at its first holder.
  [[nodiscard]] std::vector<std::uint64_t> states(job_id which);

  instant now{};
  std::map<std::uint64_t, std::vector<message>> to_client;  // by peer
  std::vector<std::string> notes;                           // `p1 job …`
  std::vector<std::string> trace;                           // of all actions, if `traces`
  bool traces = false;
  std::optional<fault> bad;
  std::map<std::uint64_t, error> profile_errors;  // peers that cannot read the data
  std::map<std::uint64_t, error> prepare_errors;
  std::map<std::uint64_t, std::uint64_t> wrong_from;  // peer: its digests differ from this step on
  std::set<std::uint64_t> mute;                       // peers whose `prepared` never comes
  std::set<std::uint64_t> frozen;                     // peers that compute no more
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::unique_ptr<value_executor>> executors;

private:
  struct node {
    peer machine;
    bool alive = true;
  };
  struct under_way {
    std::uint64_t to = 0;
    std::uint64_t link = 0;  // not 0: in order with others of the same number
    event what;
    std::function<void()> before;
  };
  void step(std::uint64_t who, const event& e);
  void act(std::uint64_t who, const action& a);
  void act_transmit(std::uint64_t who, const transmit& t);
  void act_compute(std::uint64_t who, const compute& c);
  void act_prepare(std::uint64_t who, const prepare& p);
  bool deliver_one();
  [[nodiscard]] instant next_deadline() const;
  [[nodiscard]] value_executor* executor_of(std::uint64_t who, std::uint64_t epoch);

  model_profile model_;
  random draw_;
  std::map<std::uint64_t, node> nodes_;
  std::vector<under_way> under_way_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> links_;
};

/// Returns what a single peer with one lane computes for the same job.
[[nodiscard]] std::vector<std::uint64_t> alone(const model_profile& model, std::uint64_t steps);

}  // namespace perigee::planner::testing
