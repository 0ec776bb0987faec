// CHECK: an invariant of our own code, on in every build.
//
// A failed CHECK is a bug of ours: it prints where and what, and aborts. What another peer or a
// user sends is never a CHECK; it is a `result` or an event.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace perigee {

[[noreturn]] inline void check_failed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: invariant does not hold: %s\n", file, line, condition);
  std::abort();
}

}  // namespace perigee

#define CHECK(...)                                               \
  do {                                                           \
    if (!(__VA_ARGS__)) [[unlikely]]                             \
      ::perigee::check_failed(__FILE__, __LINE__, #__VA_ARGS__); \
  } while (false)
