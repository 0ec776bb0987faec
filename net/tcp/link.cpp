#include "net/tcp/link.hpp"

#include "net/limits.hpp"
#include "proto/codec.hpp"

#include <sys/socket.h>

#include <chrono>
#include <string>
#include <utility>

namespace perigee::net {

namespace {

using std::chrono::steady_clock;

std::int64_t now_ns() { return duration(steady_clock::now().time_since_epoch()).count(); }

}  // namespace

link::link(link_terms terms, channels sockets, owner& to, std::atomic<std::uint64_t>& dropped)
    : terms_(terms),
      sockets_(std::move(sockets)),
      owner_(to),
      dropped_(dropped),
      control_(sockets_.control.get()),
      sender_(sockets_.bulk.get()),
      receiver_(terms.window,
                {source_of(sockets_.bulk.get()),
                 [this](const tensor_label& l) { return owner_.room_for(terms_.peer, l); },
                 [this](const tensor_label& l) { owner_.on_arrived(terms_.peer, l); },
                 [this] { ++dropped_; },
                 [this](bytes more) {
                   // Fails only when the link is broken, which its reader finds out by itself.
                   (void)control_.put(frame_kind::credit, encoded(credit{more.count}));
                 }}) {}

byte_source link::source_of(int fd) {
  return
      [this, fd](std::span<std::byte> into) { return read_exactly(fd, into, [this] { heard(); }); };
}

void link::start(crew& runners, std::function<void()> ended) {
  ended_ = std::move(ended);
  loops_ = 4;
  runners.run("control in " + text(terms_.peer),
              [me = shared_from_this(), &runners] { me->read_control(runners); });
}

void link::read_control(crew& runners) {
  owner_.on_linked(terms_.peer, terms_.role);
  const auto run = [&](const char* name, auto body) {
    runners.run(name + text(terms_.peer), [me = shared_from_this(), body] {
      me->close(body(*me));
      me->leave();
    });
  };
  run("control out ", [](link& l) { return l.control_.write_loop(); });
  run("bulk in ", [](link& l) { return l.receiver_.read_loop(); });
  run("bulk out ", [](link& l) {
    return l.sender_.write_loop(
        [&l](const tensor_label& label) { l.owner_.on_transmitted(l.terms_.peer, label, true); });
  });
  auto going = control_.put(frame_kind::credit, encoded(credit{terms_.window.count}));
  const auto source = source_of(sockets_.control.get());
  while (going) {
    const auto next = read_control_frame(source);
    going = next ? take(*next) : next.why();
  }
  close(going.why());
  leave();
}

result<void> link::take(const frame& what) {
  control_received_ += prefix_size + what.payload.size();
  if (what.kind == frame_kind::message) return take_message(what.payload);
  const auto more = decoded_credit(what.payload);
  if (!more) return error{errc::malformed, "malformed frame: " + more.why().what};
  return sender_.grant({more->bytes});
}

result<void> link::take_message(std::span<const std::byte> payload) {
  auto what = decoded(payload);
  if (what) {
    note_pong(*what);
    owner_.on_message(terms_.peer, std::move(*what));
    return {};
  }
  // A newer peer may say what we do not know: that is dropped, and the link lives.
  if (what.why().code != errc::unsupported) {
    return error{errc::malformed, "malformed frame: " + what.why().what};
  }
  ++dropped_;
  return {};
}

result<void> link::send(const message& what) {
  const auto payload = encoded(what);
  if (payload.size() > limits::control_frame_max) {
    return error{errc::exhausted, "send " + text(what) + " to " + text(terms_.peer) + ": " +
                                      std::to_string(payload.size()) + " bytes are too many"};
  }
  note_ping(what);
  auto put = control_.put(frame_kind::message, payload);
  if (put) {
    control_sent_ += prefix_size + payload.size();
    return put;
  }
  const auto code = put.why().code;
  if (code == errc::exhausted || code == errc::unknown_peer) return put;
  close(put.why());
  return error{errc::unknown_peer, "no link to " + text(terms_.peer)};
}

result<void> link::transmit(const tensor_label& label, std::span<const std::byte> data) {
  return sender_.put(label, data);
}

void link::close(error why) {
  {
    const std::lock_guard guard(lock_);
    if (broken_) return;
    if (why.code == errc::malformed) ++dropped_;
    broken_ = std::move(why);
  }
  // The descriptors stay ours until the loops have returned; this only wakes them.
  ::shutdown(sockets_.control.get(), SHUT_RDWR);
  ::shutdown(sockets_.bulk.get(), SHUT_RDWR);
  control_.close();
  sender_.close();
}

link_figures link::figures() const {
  const std::lock_guard guard(lock_);
  return {.linked = !broken_,
          .round_trip = round_trip_,
          .sent = bytes{control_sent_.load()} + sender_.sent(),
          .received = bytes{control_received_.load()} + receiver_.received(),
          .queued = sender_.queued()};
}

void link::note_ping(const message& what) {
  const auto* asked = std::get_if<ping>(&what);
  if (asked == nullptr) return;
  const std::lock_guard guard(lock_);
  ping_count_ = asked->count;
  ping_at_ = steady_clock::now();
}

void link::note_pong(const message& what) {
  const auto* answer = std::get_if<pong>(&what);
  if (answer == nullptr) return;
  const std::lock_guard guard(lock_);
  if (answer->count == ping_count_ && ping_at_ != steady_clock::time_point{}) {
    round_trip_ = steady_clock::now() - ping_at_;
  }
}

void link::heard() {
  const auto now = now_ns();
  auto last = heard_at_.load(std::memory_order_relaxed);
  if (now - last < limits::heard_period.count()) return;
  if (heard_at_.compare_exchange_strong(last, now)) owner_.on_heard(terms_.peer);
}

void link::leave() {
  if (--loops_ == 0) conclude();
}

void link::conclude() {
  for (const auto& label : sender_.leftovers()) {
    owner_.on_transmitted(terms_.peer, label, false);
  }
  const auto why = [this] {
    const std::lock_guard guard(lock_);
    return *broken_;
  }();
  owner_.on_unlinked(terms_.peer, why);
  const auto ended = std::move(ended_);
  ended();
}

}  // namespace perigee::net
