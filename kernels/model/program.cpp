#include "kernels/model/program.hpp"

#include "kernels/model/offsets.hpp"

#include <algorithm>

namespace perigee::kernels {

namespace {

constexpr std::size_t rounded(std::size_t bytes) noexcept { return (bytes + 63) / 64 * 64; }
constexpr std::size_t nobody = std::numeric_limits<std::size_t>::max();

class program_builder {
public:
  program_builder(const layer_graph& layer, std::span<const op_ptr> operators, layer_role role)
      : layer_(layer), operators_(operators), N_(layer.nodes.size()) {
    program_.nodes.resize(N_);
    producer_.assign(layer.values.size(), nobody);
    uses_.resize(layer.values.size());
    for (std::size_t i = 0; i < N_; ++i) {
      for (const std::uint32_t v : layer.nodes[i].in) uses_[v].push_back(i);
      if (layer.nodes[i].out != no_value) producer_[layer.nodes[i].out] = i;
      scratch_ = std::max(scratch_, rounded(needs(i).scratch_bytes));
    }
    for (const boundary_part& part : layer.outputs) written_.insert_if_new(part.value);
    find_wanted(role);
  }

  layer_program built() {
    place_values();
    place_saved();
    place_gradients();
    return std::move(program_);
  }

private:
  [[nodiscard]] const op_needs& needs(std::size_t i) const { return operators_[i]->needs(); }
  [[nodiscard]] std::size_t size_of(std::uint32_t v) const {
    return static_cast<std::size_t>(layer_.values[v].count) * 4;
  }

  void find_wanted(layer_role role) {
    wanted_.assign(layer_.values.size(), false);
    wanted_[input_value] = role == layer_role::later;
    for (const boundary_part& part : layer_.inputs) wanted_[part.value] = wanted_[input_value];
    for (std::size_t i = 0; i < N_; ++i) {
      const node& n = layer_.nodes[i];
      bool runs = !n.parameters.empty();
      for (const std::uint32_t v : n.in) runs = runs || wanted_[v];
      program_.nodes[i].runs_backward = runs;
      if (n.out != no_value) wanted_[n.out] = runs;
    }
  }

  // --- values -----------------------------------------------------------------------------------

  [[nodiscard]] bool is_kept(std::uint32_t v) const {
    if (v == layer_.logits) return true;  // evaluation looks at them
    if (producer_[v] != nobody && needs(producer_[v]).backward_reads_out) return true;
    for (const std::size_t user : uses_[v])
      for (std::size_t k = 0; k < layer_.nodes[user].in.size(); ++k)
        if (layer_.nodes[user].in[k] == v && needs(user).backward_reads_in[k]) return true;
    return false;
  }

  /// Returns where a value lies in the boundary behind the layer, if it is that or a part of it.
  [[nodiscard]] spot output_spot(std::uint32_t v) const {
    if (v == layer_.output) return {region::output, 0};
    for (const boundary_part& part : layer_.outputs)
      if (part.value == v) return {region::output, part.offset};
    return {};
  }

  /// Whether node `i` may write its output over its first input.
  [[nodiscard]] bool overwrites(std::size_t i) const {
    const node& n = layer_.nodes[i];
    if (n.out == no_value || !needs(i).in_place) return false;
    const std::uint32_t v = n.in[0];
    const bool ours =
        producer_[v] != nobody && uses_[v].size() == 1 && output_spot(v).where == region::none;
    return ours && !is_kept(v) && layer_.values[v].count == layer_.values[n.out].count;
  }

  void place_values() {
    const std::size_t count = layer_.values.size();
    program_.values.resize(count);
    program_.values[input_value] = {region::input, 0};
    for (const boundary_part& part : layer_.inputs)
      program_.values[part.value] = {region::input, part.offset};
    if (layer_.logits != no_value) program_.values[target_value] = {region::targets, 0};

    // Values written over one another share a root: the last of them.
    std::vector<std::uint32_t> root(count);
    for (std::uint32_t v = 0; v < count; ++v) root[v] = v;
    for (std::size_t i = N_; i-- > 0;)
      if (overwrites(i)) root[layer_.nodes[i].in[0]] = root[layer_.nodes[i].out];

    std::vector<lifetime> lives;
    std::vector<std::size_t> life_of(count, nobody);
    for (std::uint32_t v = 0; v < count; ++v) {
      if (producer_[v] == nobody) continue;
      const std::uint32_t r = root[v];
      if (const spot leaves = output_spot(r); leaves.where != region::none) {
        program_.values[v] = leaves;
      } else if (is_kept(r)) {
        if (v != r) continue;
        program_.values[r] = {region::kept, program_.kept_bytes};
        program_.kept_bytes += rounded(size_of(r));
      } else {
        add_life(lives, life_of[r], v);
      }
    }
    const offset_plan plan = plan_offsets(lives);
    for (std::uint32_t v = 0; v < count; ++v) {
      const std::uint32_t r = root[v];
      if (life_of[r] != nobody)
        program_.values[v] = {region::transient, scratch_ + plan.offsets[life_of[r]]};
      else if (v != r)
        program_.values[v] = program_.values[r];
    }
    program_.transient_bytes = scratch_ + plan.bytes;
  }

  void add_life(std::vector<lifetime>& lives, std::size_t& index, std::uint32_t v) const {
    const std::size_t begin = producer_[v];
    const std::size_t end = uses_[v].empty() ? begin : uses_[v].back();
    if (index == nobody) {
      index = lives.size();
      lives.push_back({size_of(v), begin, end});
    }
    lives[index].begin = std::min(lives[index].begin, begin);
    lives[index].end = std::max(lives[index].end, end);
  }

  void place_saved() {
    std::size_t parameter = 0, running = 0;
    for (std::size_t i = 0; i < N_; ++i) {
      node_program& n = program_.nodes[i];
      for (const std::size_t size : needs(i).saved_bytes) {
        n.saved.push_back(program_.kept_bytes);
        program_.kept_bytes += rounded(size);
      }
      n.packed = program_.packed_bytes;
      program_.packed_bytes += rounded(needs(i).packed_bytes);
      n.parameter_first = parameter;
      parameter += layer_.nodes[i].parameters.size();
      n.running = running;
      running += layer_.nodes[i].running.empty() ? 0 : 1;
    }
  }

  // --- gradients --------------------------------------------------------------------------------

  /// Gradients in the transient region; time runs backward through the nodes.
  struct gradient_lives {
    std::vector<lifetime> lives;
    std::vector<std::size_t> of;  // for each value
    struct part {
      std::size_t node, input, life;
    };
    std::vector<part> parts;  // of uses that are added to an earlier one's
  };

  [[nodiscard]] std::size_t time_of(std::size_t i) const { return N_ - 1 - i; }

  void place_gradients() {
    program_.gradients.resize(layer_.values.size());
    if (wanted_[input_value]) program_.gradients[input_value] = {region::input_gradient, 0};
    for (const boundary_part& part : layer_.inputs)
      if (wanted_[part.value])
        program_.gradients[part.value] = {region::input_gradient, part.offset};
    if (layer_.output != no_value) program_.gradients[layer_.output] = {region::output_gradient, 0};
    for (const boundary_part& part : layer_.outputs)
      program_.gradients[part.value] = {region::output_gradient, part.offset};

    gradient_lives g;
    g.of.assign(layer_.values.size(), nobody);
    for (std::size_t i = N_; i-- > 0;) plan_node(i, g);

    const offset_plan plan = plan_offsets(g.lives);
    program_.transient_bytes = std::max(program_.transient_bytes, scratch_ + plan.bytes);
    for (std::uint32_t v = 0; v < layer_.values.size(); ++v)
      if (g.of[v] != nobody)
        program_.gradients[v] = {region::transient, scratch_ + plan.offsets[g.of[v]]};
    for (const auto& p : g.parts)
      program_.nodes[p.node].din[p.input].to = {region::transient, scratch_ + plan.offsets[p.life]};
    finish_din();
  }

  void plan_node(std::size_t i, gradient_lives& g) {
    node_program& n = program_.nodes[i];
    n.din.resize(layer_.nodes[i].in.size());
    if (!n.runs_backward) return;
    const std::size_t now = time_of(i);
    if (const std::uint32_t out = layer_.nodes[i].out; out != no_value && g.of[out] != nobody)
      g.lives[g.of[out]].end = std::max(g.lives[g.of[out]].end, now);
    for (std::size_t k = 0; k < n.din.size(); ++k) {
      const std::uint32_t v = layer_.nodes[i].in[k];
      if (!wanted_[v]) continue;
      if (!written_.insert_if_new(v)) {
        g.parts.push_back({i, k, g.lives.size()});
        g.lives.push_back({size_of(v), now, now});
      } else if (program_.gradients[v].where == region::none) {
        place_first(i, k, g);
      }
    }
  }

  /// Places the gradient of input `k` of node `i`, which is written here first.
  void place_first(std::size_t i, std::size_t k, gradient_lives& g) {
    const std::uint32_t v = layer_.nodes[i].in[k];
    const std::uint32_t out = layer_.nodes[i].out;
    const std::size_t end = time_of(producer_[v]);
    const bool shares = k == 0 && out != no_value && needs(i).in_place &&
                        layer_.values[v].count == layer_.values[out].count;
    if (shares && g.of[out] != nobody) {
      g.of[v] = g.of[out];
      g.lives[g.of[v]].end = std::max(g.lives[g.of[v]].end, end);
    } else if (shares && program_.gradients[out].where == region::output_gradient) {
      program_.gradients[v] = program_.gradients[out];
    } else {
      g.of[v] = g.lives.size();
      g.lives.push_back({size_of(v), time_of(i), end});
    }
  }

  void finish_din() {
    for (std::size_t i = 0; i < N_; ++i) {
      for (std::size_t k = 0; k < program_.nodes[i].din.size(); ++k) {
        const std::uint32_t v = layer_.nodes[i].in[k];
        if (!program_.nodes[i].runs_backward || !wanted_[v]) continue;
        input_gradient_plan& din = program_.nodes[i].din[k];
        const bool part = din.to.where != region::none;
        (part ? din.sum : din.to) = program_.gradients[v];
      }
    }
  }

  struct value_set {
    std::vector<std::uint32_t> members;
    bool insert_if_new(std::uint32_t v) {
      if (std::find(members.begin(), members.end(), v) != members.end()) return false;
      members.push_back(v);
      return true;
    }
  };

  const layer_graph& layer_;
  std::span<const op_ptr> operators_;
  std::size_t N_;
  std::size_t scratch_ = 0;
  std::vector<std::size_t> producer_;
  std::vector<std::vector<std::size_t>> uses_;
  std::vector<bool> wanted_;
  value_set written_;
  layer_program program_;
};

}  // namespace

layer_program program_of(const layer_graph& layer, std::span<const op_ptr> operators,
                         layer_role role) {
  return program_builder(layer, operators, role).built();
}

}  // namespace perigee::kernels
