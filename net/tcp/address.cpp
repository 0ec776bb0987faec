#include "net/tcp/address.hpp"

#include "net/limits.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace perigee::net {

namespace {

using std::chrono::steady_clock;

struct host_port {
  std::string host;
  std::string port;
};

/// Splits `host:port`; an IPv6 host may stand in brackets.
result<host_port> split(const std::string& address) {
  const auto colon = address.rfind(':');
  const error bad{errc::malformed,
                  "address " + address + ": expected host:port, e.g. 127.0.0.1:7001"};
  if (colon == std::string::npos || colon == 0) return bad;
  host_port parts{address.substr(0, colon), address.substr(colon + 1)};
  if (parts.host.size() > 2 && parts.host.front() == '[' && parts.host.back() == ']') {
    parts.host = parts.host.substr(1, parts.host.size() - 2);
  } else if (parts.host.find(':') != std::string::npos) {
    return bad;
  }
  unsigned port = 0;
  const auto* end = parts.port.data() + parts.port.size();
  const auto read = std::from_chars(parts.port.data(), end, port);
  if (read.ec != std::errc{} || read.ptr != end || port > 65535) return bad;
  return parts;
}

result<std::vector<endpoint>> looked_up(const std::string& address, int flags) {
  const auto parts = split(address);
  if (!parts) return parts.why();
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(parts->host.c_str(), parts->port.c_str(), &hints, &found);
  if (failed != 0) {
    return error{errc::unavailable, "address " + address + ": " + gai_strerror(failed)};
  }
  std::vector<endpoint> places;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    auto& place = places.emplace_back();
    std::memcpy(&place.storage, at->ai_addr, at->ai_addrlen);
    place.size = at->ai_addrlen;
  }
  freeaddrinfo(found);
  return places;
}

/// What the next of `left` addresses may take.
real_time share_of(real_time deadline, std::size_t left) {
  if (deadline == real_time::max()) return deadline;
  const auto now = steady_clock::now();
  return now + (deadline - now) / static_cast<std::int64_t>(left);
}

}  // namespace

/// One name on its way: `done` is raised when `found` is there.
struct resolver::search {
  alarm done;
  result<std::vector<endpoint>> found = std::vector<endpoint>{};
};

/// Outlives the resolver while a thread still looks something up.
struct resolver::searches {
  lookup how;
  std::mutex lock;
  std::map<std::string, std::shared_ptr<search>> under_way;
};

result<std::vector<endpoint>> resolver::by_system(const std::string& address) {
  return looked_up(address, 0);
}

resolver::resolver(lookup how) : searches_(std::make_shared<searches>()) {
  searches_->how = std::move(how);
}

result<std::vector<endpoint>> resolver::find(const std::string& address, real_time deadline,
                                             const alarm* stop) {
  auto in_digits = looked_up(address, AI_NUMERICHOST);
  if (in_digits || in_digits.why().code == errc::malformed) return in_digits;
  const auto mine = begun(address);
  if (auto done = wait_readable(mine->done.fd(), deadline, stop); !done) {
    return error{done.why().code, "address " + address + ": looking it up: " + done.why().what};
  }
  const std::lock_guard guard(searches_->lock);
  return mine->found;
}

std::shared_ptr<resolver::search> resolver::begun(const std::string& address) {
  const std::lock_guard guard(searches_->lock);
  auto& mine = searches_->under_way[address];
  if (mine) return mine;
  mine = std::make_shared<search>();
  const auto look = [all = searches_, mine, address] {
    auto found = all->how(address);
    const std::lock_guard inner(all->lock);
    mine->found = std::move(found);
    all->under_way.erase(address);
    mine->done.raise();
  };
  try {
    // Nobody can end a lookup of the system, so nobody waits for the thread.
    std::thread(look).detach();
  } catch (const std::system_error&) {
    auto failed = std::exchange(mine, nullptr);
    searches_->under_way.erase(address);
    failed->found = error{errc::exhausted, "address " + address + ": no thread left to look it up"};
    failed->done.raise();
    return failed;
  }
  return mine;
}

result<unique_fd> listen_on(const std::string& address) {
  resolver names;
  const auto failed = [&](const std::string& why) { return "cannot listen on " + why; };
  const auto places = names.find(address, deadline_in(limits::lookup_patience), nullptr);
  if (!places) return error{places.why().code, failed(places.why().what)};
  error last{errc::unavailable, "no address"};
  for (const auto& place : *places) {
    auto made = listen_at(place);
    if (made) return made;
    last = made.why();
  }
  return error{last.code, failed(address + ": " + last.what)};
}

result<unique_fd> connect_to(const std::string& address, real_time deadline, const alarm* stop,
                             resolver& names) {
  const auto places = names.find(address, deadline, stop);
  if (!places) return places.why();
  error last{errc::unavailable, "no address"};
  for (auto left = places->size(); left > 0; --left) {
    const auto& place = (*places)[places->size() - left];
    auto made = connect_to(place, share_of(deadline, left), stop);
    if (made) return made;
    last = made.why();
    if (stop != nullptr && stop->raised()) break;
  }
  return error{last.code, "cannot connect to " + address + ": " + last.what};
}

result<unique_fd> connect_to(const std::string& address, real_time deadline, const alarm* stop) {
  resolver names;
  return connect_to(address, deadline, stop, names);
}

std::string local_address(int fd) {
  const auto at = local_endpoint(fd);
  std::array<char, INET6_ADDRSTRLEN> host{};
  if (at.family() == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(at.storage);
    inet_ntop(AF_INET6, &v6.sin6_addr, host.data(), host.size());
    std::string made = "[";
    return made.append(host.data()).append("]:").append(std::to_string(ntohs(v6.sin6_port)));
  }
  const auto& v4 = reinterpret_cast<const sockaddr_in&>(at.storage);
  inet_ntop(AF_INET, &v4.sin_addr, host.data(), host.size());
  return std::string(host.data()) + ":" + std::to_string(ntohs(v4.sin_port));
}

bool loopback_only(std::string_view address) {
  std::string host(address);
  if (host.starts_with('[')) {
    host = host.substr(1, host.find(']') - 1);
  } else if (std::count(host.begin(), host.end(), ':') == 1) {
    host = host.substr(0, host.find(':'));
  }
  if (host == "localhost") return true;
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24U) == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

}  // namespace perigee::net
