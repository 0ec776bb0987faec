#include "net/sim/trace.hpp"

namespace perigee::net {

void trace::add(const computed_span& span) {
  if (records()) spans_.push_back(span);
}

void trace::add(remark_line line) {
  if (records()) lines_.push_back(std::move(line));
}

}  // namespace perigee::net
