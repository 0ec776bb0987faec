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
#include <utility>

namespace perigee::net {

namespace {

/// A layer's state is far smaller; this bounds what a stranger can make us allocate.
constexpr std::uint64_t client_tensor_max = std::uint64_t{4} << 30U;
constexpr std::size_t waiting_max = 4096;  // messages that wait for `next`

}  // namespace

struct client::parts {
  parts(channels made, peer_id who, const alarm* ends);

  result<void> tell(const message& what);
  result<std::optional<message>> read_some();
  result<void> look(real_time deadline, bool bulk_too);
  result<void> take_control(const tensor_label* expected);
  result<void> take(message what, const tensor_label* expected);
  std::span<std::byte> room_for(const tensor_label& label);

  channels sockets;
  peer_id peer;
  const alarm* stop;
  std::vector<std::byte> partial;  // of the frame that is coming in on CONTROL
  std::size_t wanted = prefix_size;
  std::deque<message> waiting;
  const tensor_label* expected = nullptr;
  std::vector<std::byte> tensor;
  bool arrived = false;
  bulk_receiver receiver;
};

client::parts::parts(channels made, peer_id who, const alarm* ends)
    : sockets(std::move(made)),
      peer(who),
      stop(ends),
      receiver(sockets.bulk.get(), {limits::window_max},
               {[this](const tensor_label& label) { return room_for(label); },
                [this](const tensor_label&) { arrived = true; }, [] {}, [] {},
                [this](bytes more) {
                  const auto frame = framed(frame_kind::credit, encoded(credit{more.count}));
                  (void)write_all(sockets.control.get(), frame);  // a broken link shows when read
                }}) {}

result<void> client::parts::tell(const message& what) {
  const auto payload = encoded(what);
  if (payload.size() > limits::control_frame_max) {
    return error{errc::exhausted, "send " + text(what) + ": the message is too large"};
  }
  return write_all(sockets.control.get(), framed(frame_kind::message, payload));
}

std::span<std::byte> client::parts::room_for(const tensor_label& label) {
  const auto size = label.size.count;
  if (expected == nullptr || label.job != expected->job || label.what != expected->what) return {};
  if (size > client_tensor_max) return {};
  if (expected->size.count != 0 && expected->size.count != size) return {};
  tensor.resize(size);
  return tensor;
}

/// Waits until CONTROL, or BULK if that is asked for, has something.
result<void> client::parts::look(real_time deadline, bool bulk_too) {
  while (true) {
    std::array<pollfd, 3> watched{
        pollfd{sockets.control.get(), POLLIN, 0},
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
    if (ready > 0 && watched[2].revents != 0) return error{errc::unavailable, "stopped"};
    if (ready > 0 && watched[1].revents != 0) return receiver.read_chunk();
    if (ready > 0) return take_control(expected);
  }
}

/// Reads what is there of a frame; a whole one is taken.
result<void> client::parts::take_control(const tensor_label* asked) {
  const auto what = read_some();
  if (!what) return what.why();
  return *what ? take(**what, asked) : result<void>{};
}

result<std::optional<message>> client::parts::read_some() {
  const auto had = partial.size();
  partial.resize(wanted);
  const auto got = read_available(sockets.control.get(), std::span(partial).subspan(had));
  partial.resize(had + (got ? *got : 0));
  if (!got) return got.why();
  if (partial.size() < wanted) return std::optional<message>{};
  const auto fields = fields_of(std::span<const std::byte, prefix_size>(partial.data(), 8));
  const auto kind = static_cast<frame_kind>(fields.kind);
  if (kind != frame_kind::message && kind != frame_kind::credit) {
    return error{errc::malformed, "malformed frame: unexpected kind"};
  }
  if (fields.size > limits::control_frame_max) {
    return error{errc::malformed, "malformed frame: it is too large"};
  }
  wanted = prefix_size + fields.size;
  if (partial.size() < wanted) return std::optional<message>{};
  const auto whole = std::exchange(partial, {});
  wanted = prefix_size;
  if (kind == frame_kind::credit) return std::optional<message>{};  // we never send tensors
  auto what = decoded(std::span(whole).subspan(prefix_size));
  if (!what) return what.why();
  return std::optional<message>(std::move(*what));
}

result<void> client::parts::take(message what, const tensor_label* asked) {
  if (const auto* there = std::get_if<ping>(&what)) return tell(pong{there->count});
  if (const auto* no = std::get_if<missing>(&what); no != nullptr && asked != nullptr &&
                                                    no->job == asked->job &&
                                                    no->layer == asked->what.layer) {
    return error{errc::unavailable, no->why.what};
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
  const auto first = framed(frame_kind::credit, encoded(credit{limits::window_max}));
  if (auto sent = write_all(p->sockets.control.get(), first); !sent) return sent.why();
  return client(std::move(p));
}

peer_id client::peer() const { return parts_->peer; }

result<void> client::tell(const message& what) { return parts_->tell(what); }

result<message> client::ask(const message& what, real_time deadline) {
  if (auto sent = tell(what); !sent) return sent.why();
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
  parts_->expected = &expected;
  parts_->arrived = false;
  result<void> looked;
  while (looked && !parts_->arrived) {
    const auto left = deadline - std::chrono::steady_clock::now();
    set_read_patience(parts_->sockets.bulk.get(), left);
    looked = parts_->look(deadline, true);
  }
  parts_->expected = nullptr;
  if (!looked) return looked.why();
  return std::exchange(parts_->tensor, {});
}

}  // namespace perigee::net
