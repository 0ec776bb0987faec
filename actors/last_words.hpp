// What an actor of ours does with an exception that nobody expected: the process says what it was
// and ends.
//
// A peer without its mailbox, a lane or the workshop would keep its port open and answer nobody;
// the others see a dead process at once. Memory that cannot be had while a plan is prepared is no
// such case: it is a refusal.
#pragma once

#include <caf/all.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace perigee::actors {

inline void end_process_on_exception(caf::event_based_actor* self) {
  self->set_exception_handler([](std::exception_ptr& thrown) -> caf::error {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "perigee: this peer cannot go on: %s\n", e.what());
    } catch (...) { std::fprintf(stderr, "perigee: this peer cannot go on: unknown exception\n"); }
    std::_Exit(1);
  });
}

}  // namespace perigee::actors
