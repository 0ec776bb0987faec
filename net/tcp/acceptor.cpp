#include "net/tcp/acceptor.hpp"

#include "net/limits.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <utility>

namespace perigee::net {

acceptor::acceptor(unique_fd listening, caller us, hooks to, duration patience,
                   std::atomic<std::uint64_t>& dropped)
    : listening_(std::move(listening)),
      us_(us),
      to_(std::move(to)),
      patience_(patience),
      dropped_(dropped) {}

void acceptor::loop(const alarm& stop) {
  while (true) {
    // What came before this moment is seen by this poll: only then may a deadline of then end it.
    const auto now = to_.now();
    auto ready = watched(stop);
    if (poll(ready.data(), ready.size(), patience_ms()) < 0 && errno != EINTR) return;
    if (ready[0].revents != 0) return;
    for (std::size_t i = 2; i < ready.size(); ++i) look_at(ready[i]);
    // First: the second connection of a link may stand at the door when the time of its first ends.
    if (ready[1].revents != 0) accept_all();
    expire(now);
  }
}

void acceptor::look_at(const pollfd& ready) {
  if (ready.revents == 0) return;
  // It is gone if its partner took it along.
  const auto who = std::find_if(waiting_.begin(), waiting_.end(),
                                [&](const half_open& one) { return one.fd.get() == ready.fd; });
  if (who != waiting_.end() && !advance(who)) drop(who);
}

std::vector<pollfd> acceptor::watched(const alarm& stop) const {
  const bool resting = to_.now() < resting_until_;
  std::vector<pollfd> made{{stop.fd(), POLLIN, 0}, {resting ? -1 : listening_.get(), POLLIN, 0}};
  for (const auto& who : waiting_) made.push_back({who.fd.get(), POLLIN, 0});
  return made;
}

int acceptor::patience_ms() const {
  auto next = real_time::max();
  if (!waiting_.empty()) next = waiting_.front().deadline;
  const auto now = to_.now();
  if (now < resting_until_) next = std::min(next, resting_until_);
  if (next == real_time::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - now).count();
  return static_cast<int>(std::max<long long>(left, 0));
}

void acceptor::accept_all() {
  // Not for ever: whoever keeps dialling must not keep us from the rest.
  for (int left = limits::backlog_max; left > 0; --left) {
    unique_fd fd(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (!fd) {
      // Out of descriptors: the connection stays with the kernel; looking again at once would spin.
      const bool none_left = errno == EAGAIN || errno == EWOULDBLOCK;
      if (!none_left) resting_until_ = to_.now() + limits::back_off_min;
      return;
    }
    if (waiting_.size() >= limits::half_open_max) drop(waiting_.begin());
    set_link_options(fd.get());
    waiting_.push_back({std::move(fd), to_.now() + patience_, {}, prefix_size, {}});
    if (const auto who = std::prev(waiting_.end()); !advance(who)) drop(who);
  }
}

bool acceptor::advance(place who) {
  // A greeted dialer says nothing until it has the answer on its second connection.
  if (who->control) return false;
  while (who->data.size() < who->wanted) {
    const auto got = read_more(*who);
    if (!got) return false;
    if (*got == 0) return true;
    if (who->wanted > prefix_size || who->data.size() < prefix_size) continue;
    const std::span<const std::byte, prefix_size> prefix(who->data.data(), prefix_size);
    const auto size = announced(prefix, frame_kind::hello, limits::hello_max);
    if (!size) return false;
    who->wanted = prefix_size + *size;
  }
  return greet(who);
}

result<std::size_t> acceptor::read_more(half_open& who) {
  std::array<std::byte, prefix_size + limits::hello_max> buffer;
  const auto wanted = std::span(buffer).first(who.wanted - who.data.size());
  const auto got = read_available(who.fd.get(), wanted);
  if (got) who.data.insert(who.data.end(), buffer.data(), buffer.data() + *got);
  return got;
}

bool acceptor::greet(place who) {
  const auto theirs = decoded_greeting(std::span(who->data).subspan(prefix_size));
  if (!theirs || !to_.judge(*theirs)) return false;
  if (theirs->channel == hello_channel::bulk) return pair_up(who, *theirs);
  const bool twice = std::any_of(waiting_.begin(), waiting_.end(), [&](const half_open& other) {
    return other.control && other.control->nonce == theirs->nonce;
  });
  if (twice || !answer(who->fd.get(), *theirs)) return false;
  who->control = *theirs;
  return true;
}

bool acceptor::pair_up(place bulk, const hello& theirs) {
  const auto control = std::find_if(waiting_.begin(), waiting_.end(), [&](const half_open& other) {
    return other.control && other.control->nonce == theirs.nonce &&
           other.control->peer == theirs.peer && other.control->role == theirs.role &&
           other.control->incarnation == theirs.incarnation;
  });
  if (control == waiting_.end() || !answer(bulk->fd.get(), theirs)) return false;
  channels made{std::move(control->fd), std::move(bulk->fd)};
  waiting_.erase(control);
  waiting_.erase(bulk);
  set_blocking(made.control.get(), true);
  set_blocking(made.bulk.get(), true);
  to_.take(theirs, std::move(made));
  return true;
}

bool acceptor::answer(int fd, const hello& theirs) {
  const auto data = greeting_frame(greeting(us_, theirs.channel, theirs.nonce));
  const auto written = write_some(fd, data);
  return written && *written == data.size();
}

void acceptor::drop(place who) {
  ++dropped_;
  waiting_.erase(who);
}

void acceptor::expire(real_time now) {
  while (!waiting_.empty() && waiting_.front().deadline <= now) drop(waiting_.begin());
}

}  // namespace perigee::net
