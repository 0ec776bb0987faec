// Good plans over peers in a given order: for a cap on how long a stage may be busy, the plans
// whose micro-batches get through soonest.
//
//   label at n      some of the order's first n peers do layers 0.. in stages within the cap
//   from a label    leave peer n idle, or: the next g peers do the next layers, as many as the cap
//                   and their memory allow, or a few less
//
// Of the labels at a position only the most promising stay: half of them for how many layers are
// done, half for how little time a micro-batch has taken beyond what it takes the fastest peer.
//
// Guarantees  a pure function; at most probes * peers * labels * group sizes * (log layers + ends)
//             stages are looked at.
// Threads     none; one owner.
#pragma once

#include "planner/plan/estimate.hpp"

#include <optional>
#include <vector>

namespace perigee::planner {

struct label_options {
  std::size_t labels = 8;     // kept at each position
  std::uint32_t ends = 3;     // ends tried for each stage
  std::uint32_t probes = 10;  // caps tried to find the least one
  std::uint32_t members = 0;  // of every group, with equal shares: lanes that line up; 0 = any
  bool wider_caps = true;     // and some longer ones: fewer stages may be sooner
};

class label_search {
public:
  label_search(const estimator& with, std::vector<std::uint32_t> order, const label_options& how);

  /// Returns the best plan found under each cap that was tried, best first, no two alike. They may
  /// still need more memory than there is once lanes run deep.
  [[nodiscard]] std::vector<outline> sweep();

private:
  using rep = duration::rep;
  struct label {
    std::uint32_t layer = 0;
    std::uint32_t parent = 0;
    std::uint32_t group_first = 0;  // in the order
    std::uint32_t group_size = 0;
    rep path = 0;
    rep waiting = 0;
    rep reduce = 0;
  };
  struct scored {
    rep total = 0;
    outline cut;
  };

  void pour_groups();
  [[nodiscard]] bool try_cap(rep cap);
  void extend(std::uint32_t from, std::uint32_t n, rep cap);
  void add(std::uint32_t n, const label& made);
  void thin(std::uint32_t n);
  [[nodiscard]] std::uint32_t furthest(const label& from, const outline_stage& s, rep cap) const;
  [[nodiscard]] bool within(const outline_stage& s, rep cap) const;
  [[nodiscard]] outline_stage stage_at(const label& l) const;
  [[nodiscard]] outline path_to(std::uint32_t at) const;
  [[nodiscard]] bool enough_room() const;

  const estimator& with_;
  std::vector<std::uint32_t> order_;
  label_options how_;
  std::uint32_t layers_ = 0;
  bool roomy_ = false;
  std::vector<std::uint32_t> sizes_;                    // of groups
  std::vector<std::vector<std::vector<part>>> groups_;  // [position][size's index]
  std::vector<rep> base_;                               // of the fastest peer, prefix sums
  std::vector<label> all_;
  std::vector<std::vector<std::uint32_t>> at_;  // [position]: labels
  std::optional<std::uint32_t> best_;           // complete label of this cap
  rep best_total_ = 0;
  std::vector<scored> found_;
};

}  // namespace perigee::planner
