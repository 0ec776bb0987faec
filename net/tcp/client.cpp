#include "net/tcp/client.hpp"

#include "net/limits.hpp"
#include "net/tcp/bulk_receiver.hpp"
#include "net/tcp/dial.hpp"
#include "net/tcp/frame.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <optional>
#include <string>
#include <utility>

namespace perigee::net {

namespace {

constexpr std::size_t waiting_max = 4096;  // messages that wait for `next`

}  // namespace

struct client::parts {
  parts(channels made, peer_id who, const alarm* ends);

  result<void> put(frame_kind kind, std::span<const std::byte> payload);
  result<void> flush();
  result<void> look(real_time deadline, bool bulk_too);
  result<void> read_chunk(real_time deadline);
  result<void> read_control();
  result<void> take_frame(std::span<const std::byte> payload);
  result<void> take(message what);
  std::span<std::byte> room_for(const tensor_label& label);

  channels sockets;
  peer_id peer;
  const alarm* stop;
  std::optional<error> broken;     // no call can go on
  std::vector<std::byte> unsent;   // of CONTROL
  std::vector<std::byte> partial;  // of the frame that is coming in on CONTROL
  std::size_t wanted = prefix_size;
  std::deque<message> waiting;
  const tensor_label* expected = nullptr;
  std::vector<std::byte> tensor;
  bool coming = false;  // its first chunk is here
  bool arrived = false;
  std::optional<error> refusal;  // of the tensor that is expected
  real_time chunk_deadline{};
  std::uint64_t dropped = 0;
  bulk_receiver receiver;
};

client::parts::parts(channels made, peer_id who, const alarm* ends)
    : sockets(std::move(made)),
      peer(who),
      stop(ends),
      receiver({limits::window_max},
               {[this](std::span<std::byte> into) {
                  return read_until(sockets.bulk.get(), into, chunk_deadline, stop);
                },
                [this](const tensor_label& label) { return room_for(label); },
                [this](const tensor_label&) { arrived = true; }, [this] { ++dropped; },
                [this](bytes more) {
                  // A broken link shows when it is read.
                  (void)put(frame_kind::credit, encoded(credit{more.count}));
                }}) {}

/// Sends what can be sent at once; the rest goes while a call waits.
result<void> client::parts::put(frame_kind kind, std::span<const std::byte> payload) {
  if (unsent.size() > limits::control_queue_bytes_max) {
    return error{errc::exhausted, "too many frames wait on the link"};
  }
  const auto data = framed(kind, payload);
  unsent.insert(unsent.end(), data.begin(), data.end());
  return flush();
}

result<void> client::parts::flush() {
  const auto written = write_some(sockets.control.get(), unsent);
  if (!written) {
    broken = written.why();
    return written.why();
  }
  unsent.erase(unsent.begin(), unsent.begin() + static_cast<std::ptrdiff_t>(*written));
  return {};
}

std::span<std::byte> client::parts::room_for(const tensor_label& label) {
  if (expected == nullptr || label.job != expected->job || label.what != expected->what) return {};
  if (label.size != expected->size) {
    refusal = error{errc::malformed, text(label.what) + ": " + std::to_string(label.size.count) +
                                         " bytes announced, " +
                                         std::to_string(expected->size.count) + " expected"};
    return {};
  }
  tensor.resize(label.size.count);
  coming = true;
  return tensor;
}

/// Waits until CONTROL, or BULK if that is asked for, has something, or takes something.
result<void> client::parts::look(real_time deadline, bool bulk_too) {
  if (broken) return *broken;
  const short sending = unsent.empty() ? short{0} : short{POLLOUT};
  std::array<pollfd, 3> watched{
      pollfd{sockets.control.get(), static_cast<short>(POLLIN | sending), 0},
      pollfd{bulk_too ? sockets.bulk.get() : -1, POLLIN, 0},
      pollfd{stop == nullptr ? -1 : stop->fd(), POLLIN, 0},
  };
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now())
          .count();
  if (left <= 0) return error{errc::timed_out, "no answer in time"};
  const int ready =
      poll(watched.data(), watched.size(), static_cast<int>(std::min<long long>(left, 60'000)));
  if (ready < 0 && errno != EINTR) return error{errc::io, "waiting failed"};
  if (ready <= 0) return {};
  if (watched[2].revents != 0) return error{errc::unavailable, "stopped"};
  if ((watched[0].revents & POLLOUT) != 0) {
    if (auto sent = flush(); !sent) return sent;
  }
  result<void> done;
  if (watched[1].revents != 0) {
    done = read_chunk(deadline);
  } else if ((watched[0].revents & ~POLLOUT) != 0) {
    done = read_control();
  }
  if (!done) broken = done.why();
  return done;
}

result<void> client::parts::read_chunk(real_time deadline) {
  chunk_deadline = deadline;
  auto read = receiver.read_chunk();
  if (!read && stop != nullptr && stop->raised()) return error{errc::unavailable, "stopped"};
  return read;
}

/// Reads what is there of a frame; a whole one is taken.
result<void> client::parts::read_control() {
  const auto had = partial.size();
  partial.resize(wanted);
  const auto got = read_available(sockets.control.get(), std::span(partial).subspan(had));
  partial.resize(had + (got ? *got : 0));
  if (!got) return got.why();
  if (partial.size() < wanted) return {};
  if (wanted == prefix_size) {
    const std::span<const std::byte, prefix_size> prefix(partial.data(), prefix_size);
    const auto size = announced_on_control(prefix);
    if (!size) return size.why();
    wanted = prefix_size + *size;
    return {};
  }
  const auto whole = std::exchange(partial, {});
  wanted = prefix_size;
  return take_frame(whole);
}

result<void> client::parts::take_frame(std::span<const std::byte> whole) {
  const auto kind = fields_of(whole.first<prefix_size>()).kind;
  if (kind != static_cast<std::uint32_t>(frame_kind::message)) return {};  // we send no tensors
  auto what = decoded(whole.subspan(prefix_size));
  if (what) return take(std::move(*what));
  // A newer peer may say what we do not know: that is dropped, and the connection lives.
  if (what.why().code != errc::unsupported) return what.why();
  ++dropped;
  return {};
}

result<void> client::parts::take(message what) {
  if (const auto* there = std::get_if<ping>(&what)) {
    return put(frame_kind::message, encoded(pong{there->count}));
  }
  if (const auto* no = std::get_if<missing>(&what); no != nullptr && expected != nullptr &&
                                                    no->job == expected->job &&
                                                    no->layer == expected->what.layer) {
    refusal = error{errc::unavailable, no->why.what};
    return {};
  }
  if (waiting.size() >= waiting_max) return error{errc::exhausted, "too many messages wait"};
  waiting.push_back(std::move(what));
  return {};
}

client::client(std::unique_ptr<parts> p) : parts_(std::move(p)) {}
client::client(client&&) noexcept = default;
client& client::operator=(client&&) noexcept = default;
client::~client() = default;

result<client> client::connect(const std::string& address, real_time deadline, const alarm* stop) {
  const caller us{{drawn_nonce() | 1U}, 1, link_role::client, "client"};
  resolver names;
  auto made = dial(us, address, deadline, stop, names);
  if (!made) return made.why();
  auto p = std::make_unique<parts>(std::move(made->sockets), made->theirs.peer, stop);
  if (auto sent = p->put(frame_kind::credit, encoded(credit{limits::window_max})); !sent) {
    return sent.why();
  }
  return client(std::move(p));
}

peer_id client::peer() const { return parts_->peer; }

std::uint64_t client::dropped() const { return parts_->dropped; }

result<void> client::tell(const message& what, real_time deadline) {
  auto& p = *parts_;
  if (p.broken) return *p.broken;
  const auto payload = encoded(what);
  if (payload.size() > limits::control_frame_max) {
    return error{errc::exhausted, "send " + text(what) + ": the message is too large"};
  }
  auto sent = p.put(frame_kind::message, payload);
  while (sent && !p.unsent.empty()) sent = p.look(deadline, false);
  return sent;
}

result<message> client::ask(const message& what, real_time deadline) {
  if (auto sent = tell(what, deadline); !sent) return sent.why();
  return next(deadline);
}

result<message> client::next(real_time deadline) {
  while (parts_->waiting.empty()) {
    if (auto looked = parts_->look(deadline, false); !looked) return looked.why();
  }
  auto what = std::move(parts_->waiting.front());
  parts_->waiting.pop_front();
  return what;
}

result<std::vector<std::byte>> client::receive_tensor(const tensor_label& expected,
                                                      real_time deadline) {
  auto& p = *parts_;
  CHECK(expected.size.count > 0 && expected.size.count <= limits::tensor_max);
  p.expected = &expected;
  p.coming = p.arrived = false;
  p.refusal.reset();
  result<void> looked;
  while (looked && !p.arrived && !p.refusal) looked = p.look(deadline, true);
  p.expected = nullptr;
  if (p.refusal) return *p.refusal;
  if (!looked && p.coming) p.broken = looked.why();  // its other chunks would find no room
  if (!looked) return looked.why();
  return std::exchange(p.tensor, {});
}

}  // namespace perigee::net
