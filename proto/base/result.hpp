// result<T>: what a call that can fail returns: a value, or an error of a short closed set.
//
// g++ 12 has no std::expected in C++20 mode; this is the part of it that we use.
#pragma once

#include "proto/base/check.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace perigee {

/// Why a call failed. The list is closed: a new kind of failure finds its place here.
enum class errc {
  malformed,     // the input breaks its format
  stale,         // true once, not any more
  unknown_peer,  // nobody of that name
  infeasible,    // no plan can do it
  unavailable,   // not there now; may come
  timed_out,     // no answer in time
  exhausted,     // a limit is reached
  unsupported,   // well formed, but not something we do
  io,            // the operating system said no
};

[[nodiscard]] constexpr std::string_view text(errc code) noexcept {
  constexpr std::string_view names[] = {"malformed",  "stale",       "unknown peer",
                                        "infeasible", "unavailable", "timed out",
                                        "exhausted",  "unsupported", "io"};
  return names[static_cast<std::size_t>(code)];
}

/// `what` says what was attempted on what and why it failed: lower case, one line, no full stop.
struct error {
  errc code{};
  std::string what;
  friend bool operator==(const error&, const error&) = default;
};

template <class T>
class [[nodiscard]] result {
public:
  result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  result(error why) : state_(std::in_place_index<1>, std::move(why)) {}

  explicit operator bool() const noexcept { return state_.index() == 0; }
  T& operator*() & { return std::get<0>(checked()); }
  const T& operator*() const& { return std::get<0>(checked()); }
  T&& operator*() && { return std::get<0>(std::move(checked())); }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }
  const error& why() const {
    CHECK(state_.index() == 1);
    return std::get<1>(state_);
  }

private:
  std::variant<T, error>& checked() {
    CHECK(state_.index() == 0);
    return state_;
  }
  const std::variant<T, error>& checked() const {
    CHECK(state_.index() == 0);
    return state_;
  }
  std::variant<T, error> state_;
};

template <>
class [[nodiscard]] result<void> {
public:
  result() = default;
  result(error why) : why_(std::move(why)), failed_(true) {}
  explicit operator bool() const noexcept { return !failed_; }
  const error& why() const {
    CHECK(failed_);
    return why_;
  }

private:
  error why_;
  bool failed_ = false;
};

}  // namespace perigee
