#include "net/sim/sim_transport.hpp"

#include "net/limits.hpp"
#include "proto/base/check.hpp"
#include "proto/codec.hpp"

#include <cstring>
#include <utility>

namespace perigee::net {

namespace {

/// What a message takes of a link's bandwidth: messages are small, and encoding each only to weigh
/// it would cost more than all the rest.
constexpr bytes message_size{256};
constexpr std::uint32_t nobody = ~std::uint32_t{0};
constexpr duration heard_period{500'000'000};

constexpr std::uint64_t key(std::uint32_t from, std::uint32_t to) {
  return (std::uint64_t{from} << 32U) | to;
}

/// A slot of `pool`, an old one if there is one.
template <class T>
std::uint64_t taken(std::vector<T>& pool, std::vector<std::uint64_t>& unused, T value) {
  if (unused.empty()) {
    pool.push_back(std::move(value));
    return pool.size() - 1;
  }
  const std::uint64_t index = unused.back();
  unused.pop_back();
  pool[index] = std::move(value);
  return index;
}

}  // namespace

// ---- the transport of one peer ------------------------------------------------------------------

result<void> sim_transport::send(peer_id to, const message& what) {
  sim_network& n = network_;
  const std::uint32_t target = n.position_of(to);
  sim_network::wire* wire = n.wire_of(self_, target);
  if (wire == nullptr || !wire->linked) {
    return error{errc::unknown_peer, "no link to " + text(to)};
  }
  message carried = what;
  if (n.messages_++ % 3 == 0) {
    auto again = decoded(encoded(what));
    CHECK(again && *again == what);
    carried = std::move(*again);
  }
  const auto passage = wire->model.carry_control(n.queue_.now(), message_size);
  const std::uint64_t index =
      taken(n.letters_, n.free_letters_,
            sim_network::letter{self_, wire->generation, std::move(carried)});
  n.queue_.push(passage.arrives, sim_network::delivered, target, index);
  return {};
}

result<void> sim_transport::transmit(peer_id to, const tensor_label& label,
                                     std::span<const std::byte> data) {
  sim_network& n = network_;
  const std::uint32_t target = n.position_of(to);
  sim_network::wire* wire = n.wire_of(self_, target);
  if (wire == nullptr || !wire->linked) {
    return error{errc::unknown_peer, "no link to " + text(to)};
  }
  const auto passage = wire->model.carry_bulk(n.queue_.now(), label.size);
  wire->queued += label.size;
  const std::uint64_t index = taken(n.parcels_, n.free_parcels_,
                                    sim_network::parcel{.from = self_,
                                                        .to = target,
                                                        .generation = wire->generation,
                                                        .used = true,
                                                        .label = label,
                                                        .data = data,
                                                        .copy = {}});
  n.queue_.push(passage.leaves, sim_network::left, self_, index);
  const auto latency = wire->model.character().latency;
  for (instant t = n.queue_.now() + latency + heard_period; t < passage.arrives;
       t += heard_period) {
    n.queue_.push(t, sim_network::heard_of, target, key(self_, wire->generation));
  }
  return {};
}

void sim_transport::close(peer_id who) {
  const std::uint32_t target = network_.position_of(who);
  if (target != nobody) network_.cut(self_, target, {errc::unavailable, "closed"});
}

link_figures sim_transport::figures(peer_id who) const {
  const std::uint32_t target = network_.position_of(who);
  const auto* out = std::as_const(network_).wire_of(self_, target);
  const auto* in = std::as_const(network_).wire_of(target, self_);
  if (out == nullptr || in == nullptr) return {};
  return {out->linked, out->model.character().latency * 2, out->sent, in->received, out->queued};
}

std::uint64_t sim_transport::dropped() const { return network_.places_[self_].dropped; }

// ---- the network --------------------------------------------------------------------------------

std::uint32_t sim_network::add(peer_id who, owner& serves) {
  const auto position = static_cast<std::uint32_t>(places_.size());
  CHECK(positions_.emplace(who, position).second);
  places_.push_back({.who = who,
                     .serves = &serves,
                     .carrier = std::make_unique<sim_transport>(*this, position),
                     .wires = {}});
  return position;
}

void sim_network::connect(std::uint32_t a, std::uint32_t b, link_character character, instant at) {
  for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
    std::vector<wire>& wires = places_[from].wires;
    if (wires.size() <= to) wires.resize(places_.size());
    wire& w = wires[to];
    w.known = true;
    w.model = link_model(character);
    queue_.push(at, up, from, key(to, w.generation));
  }
}

void sim_network::cut(std::uint32_t a, std::uint32_t b, const error& why) {
  const wire* w = wire_of(a, b);
  if (w == nullptr) return;
  const duration latency = w->model.character().latency;
  break_wire(a, b, why, duration{});
  break_wire(b, a, why, latency);
}

void sim_network::remove(std::uint32_t position, const error& why) {
  places_[position].alive = false;
  for (std::uint32_t other = 0; other < places_.size(); ++other) {
    if (other != position && wire_of(position, other) != nullptr) { cut(position, other, why); }
  }
}

void sim_network::handle(const timed& what) {
  if (what.kind == left) return leave(what);
  if (what.kind == delivered) return deliver(what);
  if (what.kind == landed) return land(what);
  place& here = places_[what.who];
  if (!here.alive) return;
  if (what.kind == down) {
    const notice& n = notices_[what.what];
    return here.serves->on_unlinked(places_[n.about].who, error{n.why});
  }
  const auto other = static_cast<std::uint32_t>(what.what >> 32U);
  const auto generation = static_cast<std::uint32_t>(what.what);
  if (what.kind == up) {
    wire* w = wire_of(what.who, other);
    if (!places_[other].alive || w->generation != generation) return;
    w->linked = true;
    return here.serves->on_linked(places_[other].who, link_role::peer);
  }
  const wire* w = wire_of(other, what.who);
  if (w->generation == generation) here.serves->on_heard(places_[other].who);
}

void sim_network::deliver(const timed& what) {
  letter carried = std::move(letters_[what.what]);
  free_letters_.push_back(what.what);
  place& here = places_[what.who];
  const wire* w = wire_of(carried.from, what.who);
  if (!here.alive || w->generation != carried.generation) return;
  here.serves->on_message(places_[carried.from].who, std::move(carried.what));
}

void sim_network::leave(const timed& what) {
  parcel& p = parcels_[what.what];
  if (p.gone) return return_parcel(what.what);  // its link broke meanwhile
  wire& w = *wire_of(p.from, p.to);
  p.gone = true;
  p.copy.assign(p.data.begin(), p.data.end());
  w.sent += p.label.size;
  w.queued = w.queued - p.label.size;
  queue_.push(queue_.now() + w.model.character().latency, landed, p.to, what.what);
  const place& sender = places_[p.from];
  const peer_id to = places_[p.to].who;
  const tensor_label label = p.label;
  if (sender.alive) sender.serves->on_transmitted(to, label, true);
}

void sim_network::land(const timed& what) {
  parcel& p = parcels_[what.what];
  place& here = places_[p.to];
  wire& w = *wire_of(p.from, p.to);
  if (!here.alive || w.generation != p.generation) return return_parcel(what.what);
  ++tensors_;
  w.received += p.label.size;
  const peer_id from = places_[p.from].who;
  const tensor_label label = p.label;
  const std::span<std::byte> room = here.serves->room_for(from, label);
  if (room.size() != p.copy.size() || room.empty()) {
    ++here.dropped;
    return return_parcel(what.what);
  }
  std::memcpy(room.data(), p.copy.data(), room.size());
  return_parcel(what.what);
  here.serves->on_arrived(from, label);
}

void sim_network::return_parcel(std::uint64_t index) {
  parcels_[index].used = false;
  free_parcels_.push_back(index);
}

sim_network::wire* sim_network::wire_of(std::uint32_t from, std::uint32_t to) {
  return const_cast<wire*>(std::as_const(*this).wire_of(from, to));
}

const sim_network::wire* sim_network::wire_of(std::uint32_t from, std::uint32_t to) const {
  if (from >= places_.size() || to >= places_[from].wires.size()) return nullptr;
  const wire& w = places_[from].wires[to];
  return w.known ? &w : nullptr;
}

std::uint32_t sim_network::position_of(peer_id who) const {
  // Peers of a test bed are numbered from 1 in order.
  if (who.value > 0 && who.value <= places_.size() && places_[who.value - 1].who == who) {
    return static_cast<std::uint32_t>(who.value - 1);
  }
  const auto at = positions_.find(who);
  return at == positions_.end() ? nobody : at->second;
}

void sim_network::break_wire(std::uint32_t from, std::uint32_t to, const error& why,
                             duration after) {
  wire& w = *wire_of(from, to);
  ++w.generation;
  const bool was_linked = std::exchange(w.linked, false);
  w.queued = {};
  for (std::uint64_t i = 0; i < parcels_.size(); ++i) {
    parcel& p = parcels_[i];
    if (!p.used || p.gone || p.from != from || p.to != to) continue;
    p.gone = true;  // its `left` event gives the slot back
    if (places_[from].alive) places_[from].serves->on_transmitted(places_[to].who, p.label, false);
  }
  if (!was_linked || !places_[from].alive) return;
  notices_.push_back({to, why});
  queue_.push(queue_.now() + after, down, from, notices_.size() - 1);
}

}  // namespace perigee::net
