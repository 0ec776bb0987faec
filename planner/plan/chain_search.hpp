// The search behind `partition`: the best cut of a chain of layers over peers in a fixed order.
//
//   best(i, a, q, u) = layers i.. in q stages on peers a.., with room for u incoming boundaries
//   that
//                      the lanes upstream may have under way
//
// It works from the front and remembers what it found. A stage's group starts with a chosen peer
// and goes on with any later ones (peers between may idle); where there are many ways to share the
// slices, groups are runs of neighbours and the slices are poured: each next one to the member that
// would be done with it first.
//
// Guarantees  the least bottleneck for the asked number of stages (of poured groups: among those).
// Threads     none; one owner.
#pragma once

#include "planner/plan/cost_model.hpp"
#include "planner/plan/shape.hpp"

#include <limits>
#include <optional>
#include <vector>

namespace perigee::planner {

struct chain_problem {
  const model_profile* model = nullptr;
  std::vector<peer_record> peers;  // in the order in which stages take them
  plan_shape shape;
  schedule_kind schedule = schedule_kind::one_f_one_b;
  link_estimate link;
  bytes extra;       // memory that every peer is given beyond its offer
  bool any = false;  // the first plan that fits will do
};

class chain_search {
public:
  explicit chain_search(const chain_problem& problem);

  /// Returns the stages of the best plan of `stages` stages, or nothing if none fits.
  [[nodiscard]] std::optional<std::vector<stage>> best(std::uint32_t stages);

private:
  using rep = duration::rep;
  static constexpr rep unreachable = std::numeric_limits<rep>::max();

  struct value {
    rep bottleneck = unreachable;
    rep path = unreachable;  // fill and drain
    friend auto operator<=>(const value&, const value&) = default;
  };
  struct share {
    std::uint32_t peer = 0;  // position in the order
    std::uint32_t slices = 0;
  };
  /// A state of the search: see the top.
  struct state {
    std::uint32_t layer = 0;
    std::uint32_t peer = 0;
    std::uint32_t stages = 0;
    std::uint32_t incoming = 0;
  };
  struct found {
    std::uint32_t incoming = 0;
    value best;
    std::uint32_t layer_end = 0;
    std::vector<share> group;
  };
  /// The stage that is being put together.
  struct draft {
    state at;
    std::uint32_t layer_end = 0;
    std::uint32_t slices_left = 0;
    std::uint32_t size = 0;                              // members it must have; 0 = free
    const std::vector<std::uint32_t>* shares = nullptr;  // if fixed
    std::vector<share> group;
    found* into = nullptr;
  };

  [[nodiscard]] const found& explore(const state& at);
  void start_at(const state& at, found& into);
  void extend(draft& d, std::uint32_t next);
  void pour(draft& d);
  void finish(const draft& d);
  [[nodiscard]] stage stage_of(const draft& d) const;
  [[nodiscard]] stage_load load_on(const draft& d, std::uint32_t peer) const;
  [[nodiscard]] rep time_of(const draft& d, const share& s, std::uint32_t slice_first) const;
  [[nodiscard]] bool done(const found& f) const;
  [[nodiscard]] bool fits(const draft& d, const stage& s) const;
  [[nodiscard]] std::uint32_t outgoing(const stage& s) const;
  [[nodiscard]] std::vector<found>& known(const state& at);
  [[nodiscard]] bool enough_room() const;
  [[nodiscard]] bool many_ways() const;

  const chain_problem& problem_;
  const model_profile& model_;
  std::uint32_t layers_ = 0;
  std::uint32_t peers_ = 0;
  std::uint32_t stages_ = 0;  // of the plan being searched
  bool roomy_ = false;        // every peer could hold the whole model: memory decides nothing
  bool poured_ = false;
  std::vector<std::vector<rep>> pass_;    // [peer][layer]: prefix sums of a micro-batch's time
  std::vector<std::vector<rep>> update_;  // [peer][layer]: prefix sums of update times
  std::vector<std::vector<found>> known_;
};

}  // namespace perigee::planner
