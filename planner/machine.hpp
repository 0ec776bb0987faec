// The shape of every protocol: a pure, deterministic machine.
//
// Laws (each held by tests/planner/laws_test.cpp):
//   total          any event in any state: no exception, bounded work; stale input is answered or
//   ignored by rule deterministic  same construction and events: same actions, on every peer and
//   CPU one deadline   a machine emits no timers; it is asked when it must next be called no
//   payload     tensors are names (proto/tensor.hpp) silent         it does not log; it emits
//   `note`
#pragma once

#include "planner/event.hpp"
#include "planner/outbox.hpp"
#include "proto/base/instant.hpp"

#include <concepts>

namespace perigee::planner {

template <class M>
concept machine = requires(M m, const M view, instant now, const event& e, outbox& out) {
  { m.step(now, e, out) } -> std::same_as<void>;  // the only way in; the outbox is the only way out
  {
    view.deadline()
    } -> std::same_as<instant>;  // step with `due` no later than this; `never` = no need
};

}  // namespace perigee::planner
