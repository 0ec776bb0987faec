#include "kernels/model/onnx/cut.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace perigee::kernels {

namespace {

constexpr std::int64_t part_floats = 16;  // parts of a boundary start at multiples of 64 bytes

bool weighted(const node& n) {
  return std::holds_alternative<conv2d_shape>(n.shape) ||
         std::holds_alternative<linear_shape>(n.shape) ||
         std::holds_alternative<embedding_shape>(n.shape);
}

/// A cut stands before a node; 0 and the number of nodes are the ends.
class cutter {
public:
  cutter(const layer_graph& whole, std::uint32_t logits) : whole_(whole), N_(whole.nodes.size()) {
    crossing_.resize(N_ + 1);
    std::vector<std::size_t> made(whole.values.size(), 0), read(whole.values.size(), 0);
    for (std::size_t i = 0; i < N_; ++i) {
      made[whole.nodes[i].out] = i + 1;
      for (const std::uint32_t v : whole.nodes[i].in) read[v] = i + 1;
      if (weighted(whole.nodes[i])) weighted_.push_back(i);
    }
    read[logits] = N_ + 1;
    for (std::uint32_t v = 0; v < whole.values.size(); ++v)
      for (std::size_t p = made[v]; p < read[v]; ++p) crossing_[p].push_back(v);
  }

  /// Returns the cuts in order, with both ends.
  [[nodiscard]] std::vector<std::size_t> cuts() const {
    std::set<std::size_t> all{0, N_};
    add_cuts(0, N_, 1, all);
    for (std::size_t tensors = 2; tensors <= crossing_max; ++tensors) {
      const std::vector<std::size_t> now(all.begin(), all.end());
      for (std::size_t i = 0; i + 1 < now.size(); ++i)
        if (weighted_between(now[i], now[i + 1]) > whole_max)
          add_cuts(now[i], now[i + 1], tensors, all);
    }
    return {all.begin(), all.end()};
  }

  [[nodiscard]] const std::vector<std::uint32_t>& crossing(std::size_t cut) const {
    return crossing_[cut];
  }

private:
  [[nodiscard]] std::size_t weighted_between(std::size_t begin, std::size_t end) const {
    return static_cast<std::size_t>(std::count_if(
        weighted_.begin(), weighted_.end(), [&](std::size_t i) { return i >= begin && i < end; }));
  }

  [[nodiscard]] bool may_cross(std::size_t cut, std::size_t tensors) const {
    const auto& all = crossing_[cut];
    return all.size() <= tensors && std::all_of(all.begin(), all.end(), [&](std::uint32_t v) {
             return whole_.values[v].type == element::f32;
           });
  }

  [[nodiscard]] std::int64_t size(std::size_t cut) const {
    std::int64_t sum = 0;
    for (const std::uint32_t v : crossing_[cut]) sum += whole_.values[v].count;
    return sum;
  }

  /// Adds the best cut between any two neighbouring weighted operators of [begin, end).
  void add_cuts(std::size_t begin, std::size_t end, std::size_t tensors,
                std::set<std::size_t>& all) const {
    for (std::size_t w = 0; w + 1 < weighted_.size(); ++w) {
      if (weighted_[w] < begin || weighted_[w + 1] >= end) continue;
      std::size_t best = 0;
      for (std::size_t p = weighted_[w] + 1; p <= weighted_[w + 1]; ++p)
        if (may_cross(p, tensors) && (best == 0 || size(p) <= size(best))) best = p;
      if (best != 0) all.insert(best);
    }
  }

  const layer_graph& whole_;
  std::size_t N_;
  std::vector<std::size_t> weighted_;
  std::vector<std::vector<std::uint32_t>> crossing_;  // in front of each node, and behind the last
};

/// Makes one layer of the nodes [begin, end).
class layer_maker {
public:
  /// `targets` is 0 of all layers but the last.
  layer_maker(const layer_graph& whole, const std::vector<std::uint32_t>& in, std::int64_t targets)
      : whole_(whole), came_(in.begin(), in.end()) {
    layer_.values.push_back({0, element::f32});
    if (targets > 0) layer_.values.push_back({targets, element::i32});
    if (in.size() == 1) {
      now_[in[0]] = input_value;
      layer_.values[input_value] = whole.values[in[0]];
      return;
    }
    for (const std::uint32_t v : in) {
      now_[v] = add(whole.values[v]);
      layer_.inputs.push_back({now_[v], packed(layer_.values[input_value], whole.values[v])});
    }
  }

  void add_nodes(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      node n = whole_.nodes[i];
      for (std::uint32_t& v : n.in) v = now_.at(v);
      now_[n.out] = add(whole_.values[n.out]);
      n.out = now_[n.out];
      layer_.nodes.push_back(std::move(n));
    }
  }

  layer_graph ended(const std::vector<std::uint32_t>& out) {
    if (out.size() == 1) {
      layer_.output = now_.at(out[0]);
      return std::move(layer_);
    }
    value boundary;
    for (const std::uint32_t v : out) {
      const std::uint32_t own = came_.contains(v) ? handed_on(v) : now_.at(v);
      layer_.outputs.push_back({own, packed(boundary, whole_.values[v])});
    }
    layer_.output = add(boundary);
    return std::move(layer_);
  }

  layer_graph ended(const last_value& last) {
    layer_.logits = now_.at(last.logits);
    const cross_entropy_shape loss{last.rows, last.classes};
    layer_.nodes.push_back({loss, {layer_.logits, target_value}, no_value, {}, {}});
    return std::move(layer_);
  }

private:
  std::uint32_t add(const value& v) {
    layer_.values.push_back(v);
    return static_cast<std::uint32_t>(layer_.values.size() - 1);
  }

  /// Puts a tensor behind what the boundary has; returns its offset in bytes.
  static std::size_t packed(value& boundary, const value& part) {
    const std::int64_t at = (boundary.count + part_floats - 1) / part_floats * part_floats;
    boundary.count = at + part.count;
    return static_cast<std::size_t>(at) * sizeof(float);
  }

  /// The last thing a layer does: gradients of a value are added from its last use to its first.
  std::uint32_t handed_on(std::uint32_t v) {
    const std::int64_t count = whole_.values[v].count;
    const std::uint32_t copy = add(whole_.values[v]);
    layer_.nodes.push_back({slice_shape{1, count, 1, 0, count}, {now_.at(v)}, copy, {}, {}});
    return copy;
  }

  const layer_graph& whole_;
  layer_graph layer_;
  std::map<std::uint32_t, std::uint32_t> now_;  // a value of the whole -> of this layer
  std::set<std::uint32_t> came_;
};

/// Returns the module that a parameter belongs to: its name without the last word.
std::string module_of(const std::string& name) {
  const auto dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(0, dot);
}

/// Returns the longest run of whole words with which both names begin.
std::string common_start(const std::string& a, const std::string& b) {
  std::size_t end = 0;
  for (std::size_t i = 0; i <= std::min(a.size(), b.size()); ++i) {
    const bool word_ends = (i == a.size() || a[i] == '.') && (i == b.size() || b[i] == '.');
    if (word_ends) end = i;
    if (i == a.size() || i == b.size() || a[i] != b[i]) break;
  }
  return a.substr(0, end);
}

std::string name_of(const layer_graph& layer, const std::set<std::string>& known) {
  std::string first, common;
  for (const node& n : layer.nodes)
    for (const parameter& p : n.parameters) {
      const std::string module = module_of(p.name);
      if (first.empty()) first = common = module;
      common = common_start(common, module);
    }
  const std::string name = common.empty() ? first : common;
  if (!name.empty() && !known.contains(name)) return name;
  if (!first.empty() && !known.contains(first)) return first;
  return (first.empty() ? "layer" : first) + "." + std::to_string(known.size());
}

}  // namespace

std::vector<layer_graph> cut_into_layers(const layer_graph& whole, const last_value& last) {
  const cutter all(whole, last.logits);
  const auto cuts = all.cuts();
  std::vector<layer_graph> layers;
  std::set<std::string> names;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    const bool ends = i + 2 == cuts.size();
    layer_maker maker(whole, i == 0 ? std::vector{input_value} : all.crossing(cuts[i]),
                      ends ? last.rows : 0);
    maker.add_nodes(cuts[i], cuts[i + 1]);
    layers.push_back(ends ? maker.ended(last) : maker.ended(all.crossing(cuts[i + 1])));
    layers.back().name = name_of(layers.back(), names);
    names.insert(layers.back().name);
  }
  return layers;
}

}  // namespace perigee::kernels
