#include "kernels/model/onnx/flow.hpp"

#include "kernels/format/file.hpp"

#include <algorithm>

namespace perigee::kernels {

std::uint32_t flow::add_value(std::string name, extents shape, bool whole) {
  flow_value v;
  v.name = std::move(name);
  v.shape = std::move(shape);
  v.whole = whole;
  values.push_back(std::move(v));
  return static_cast<std::uint32_t>(values.size() - 1);
}

std::size_t flow::producer(std::uint32_t value) const noexcept {
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].out == value) return i;
  return no_node;
}

std::size_t flow::uses(std::uint32_t value) const noexcept {
  std::size_t count = value == output ? 1 : 0;
  for (const flow_node& n : nodes)
    count += static_cast<std::size_t>(std::count(n.in.begin(), n.in.end(), value));
  return count;
}

std::size_t flow::only_user(std::uint32_t value) const noexcept {
  if (uses(value) != 1 || value == output) return no_node;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (std::find(nodes[i].in.begin(), nodes[i].in.end(), value) != nodes[i].in.end()) return i;
  return no_node;
}

void flow::sweep() {
  std::vector<bool> read(values.size(), false);
  read[output] = true;
  std::vector<flow_node> kept;
  for (std::size_t i = nodes.size(); i-- > 0;) {
    if (!read[nodes[i].out]) continue;
    for (const std::uint32_t v : nodes[i].in) read[v] = true;
    kept.push_back(std::move(nodes[i]));
  }
  std::reverse(kept.begin(), kept.end());
  nodes = std::move(kept);
}

error refused(const std::string& op, const std::string& name, const std::string& reason) {
  return {errc::unsupported,
          "operator " + shown(op) + (name.empty() ? "" : ", node " + shown(name)) + ": " + reason};
}

}  // namespace perigee::kernels
